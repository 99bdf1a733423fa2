#include "tasks/language/DeckAdapters.hpp"

#include <functional>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "nn/language/LanguageNetwork.hpp"
#include "text/tokenizer/NameMatch.hpp"

namespace multicard {

namespace {

/// The deck's word for a setting must be the adapter's, when there is one.
template <class T>
void check_same(const char* key, const std::optional<T>& in_deck, const T& in_adapter, const std::string& folder) {
  if (!in_deck || *in_deck == in_adapter) return;
  throw UsageError(fmt::format("method.{} is {}, but the adapter's is {}", key, *in_deck, in_adapter),
                   fmt::format("model.adapter is {}", folder), "Remove the key: the adapter sets it.");
}

/// One of the settings that say what is adapted and how.
struct LayerSetting {
  const char* key;
  std::function<std::string(const AdapterOptions&)> text;
};

/// `result` of the deck's settings must be that of the adapter's: they may be spelt in several ways.
/// The texts alone would refuse targets such as all-linear against an adapter_config.json that lists the same layers.
template <class Result>
void check_same_result(const LayerSetting& setting, AdapterOptions in_deck, const AdapterOptions& in_adapter,
                       const Result& result) {
  in_deck.file.clear();
  if (result(in_deck) != result(in_adapter))
    check_same(setting.key, std::optional(setting.text(in_deck)), setting.text(in_adapter), in_adapter.file);
}

template <class T>
std::string text_of(const LayerPatterns<T>& patterns) {
  std::vector<std::string> texts;
  for (const auto& [pattern, value] : patterns)
    texts.push_back(fmt::format("{}: {}", pattern, value));
  return fmt::format("{{{}}}", join(texts, ", "));
}

/// What counts is which layers have which adapters, and what is trained whole.
/// Each setting is compared with the other ones taken from the adapter, so that the message names the one that differs.
void check_same_layers(const MethodOptions& method, const AdapterOptions& of_adapter, const Llama& network) {
  const std::vector<std::string> layers = network.linear_layers();
  AdapterOptions of_deck = of_adapter;
  of_deck.settings.targets = method.targets;
  if (!method.targets.empty())
    check_same_result({"targets", [](const AdapterOptions& options) { return join(options.settings.targets, ", "); }},
                      of_deck, of_adapter,
                      [&](const AdapterOptions& options) { return adapted_layers(options, layers); });
  const auto adapters = [adapted = adapted_layers(of_adapter, layers)](const AdapterOptions& options) {
    return layer_adapters(options, adapted);
  };
  AdapterOptions one_pattern = of_adapter;
  one_pattern.settings.patterns.alpha.clear();
  of_deck.settings.patterns = {method.patterns.rank, {}};
  if (!method.patterns.rank.empty())
    check_same_result(
        {"rank_pattern", [](const AdapterOptions& options) { return text_of(options.settings.patterns.rank); }},
        of_deck, one_pattern, adapters);
  one_pattern.settings.patterns = {{}, of_adapter.settings.patterns.alpha};
  of_deck.settings.patterns = {{}, method.patterns.alpha};
  if (!method.patterns.alpha.empty())
    check_same_result(
        {"alpha_pattern", [](const AdapterOptions& options) { return text_of(options.settings.patterns.alpha); }},
        of_deck, one_pattern, adapters);
  of_deck.settings.modules_to_save = method.modules_to_save;
  if (!method.modules_to_save.empty())
    check_same_result(
        {"modules_to_save", [](const AdapterOptions& options) { return join(options.settings.modules_to_save, ", "); }},
        of_deck, of_adapter,
        [&](const AdapterOptions& options) { return saved_modules(options, network.savable_modules(), layers); });
}

}  // namespace

AdapterOptions adapters_of_deck(const MethodOptions& method) {
  AdapterOptions adapters;
  adapters.settings.rank = *method.rank;
  adapters.settings.alpha = *method.alpha;
  adapters.settings.rslora = *method.rslora;
  adapters.settings.targets = method.targets;
  adapters.settings.patterns = method.patterns;
  adapters.settings.modules_to_save = method.modules_to_save;
  adapters.matcher = whole_matches;
  return adapters;
}

// Dropout is the only setting that a continued adapter takes from the deck: it has no part in the weights.
AdapterOptions adapter_options(const MethodOptions& method, const std::optional<PeftAdapter>& start,
                               const Llama& network) {
  AdapterOptions adapters;
  if (start) {
    const AdapterConfig& config = start->config();
    check_same("rank", method.rank, config.settings.rank, start->path());
    check_same("alpha", method.alpha, config.settings.alpha, start->path());
    check_same("rslora", method.rslora, config.settings.rslora, start->path());
    adapters = adapter_options_of(config, whole_matches);
    adapters.file = start->path();
    check_same_layers(method, adapters, network);
  } else {
    adapters = adapters_of_deck(method);
  }
  adapters.settings.dropout = method.dropout;
  return adapters;
}

}  // namespace multicard
