#include "tasks/RandomWeights.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "io/Bytes.hpp"
#include "io/Sha256.hpp"

namespace multicard {

std::optional<std::uint64_t> random_weights_seed(const RunOptions& options) {
  if (!options.model.random_weights) return std::nullopt;
  return static_cast<std::uint64_t>(options.run.seed);
}

std::optional<std::uint64_t> random_weights_seed(const Deck& deck) {
  if (deck.get_text("model.random_weights") != "true") return std::nullopt;
  return random_weights_seed(read_run_options(deck));
}

std::string sha256_of_random_weights(const std::string& folder, std::uint64_t seed, at::ScalarType dtype) {
  const std::string config = read_file((std::filesystem::path(folder) / "config.json").string());
  return sha256(fmt::format("{}\nseed {}\n{}\n", config, seed, c10::toString(dtype)));
}

}  // namespace multicard
