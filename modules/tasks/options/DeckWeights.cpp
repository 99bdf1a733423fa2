#include "tasks/options/DeckWeights.hpp"

namespace multicard {

std::optional<std::uint64_t> random_weights_seed(const RunOptions& options) {
  if (!options.model.random_weights) return std::nullopt;
  return static_cast<std::uint64_t>(options.run.seed);
}

std::optional<std::uint64_t> random_weights_seed(const Deck& deck) {
  if (deck.get_text("model.random_weights") != "true") return std::nullopt;
  return random_weights_seed(read_run_options(deck));
}

WeightFormat weight_format(const Deck& deck) {
  MethodOptions method;
  method.name = value_of<TuningMethod>(deck.get_text("method.name"), kMethodWords).value_or(method.name);
  const std::string group_size = deck.get_text("method.group_size");
  if (!group_size.empty()) method.group_size = std::stoll(group_size);
  method.double_quant = deck.get_text("method.double_quant") != "false";
  return method.weight_format();
}

}  // namespace multicard
