#include "nn/language/LanguageNetwork.hpp"

#include <filesystem>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include "io/Bytes.hpp"
#include "io/Sha256.hpp"
#include "state/CheckpointStore.hpp"

namespace multicard {

// The weights are a function of shape, seed and type: hashing these stands for hashing gigabytes of values.
std::string sha256_of_random_weights(const std::string& folder, std::uint64_t seed, at::ScalarType dtype) {
  const std::string config = read_file((std::filesystem::path(folder) / "config.json").string());
  return sha256(fmt::format("{}\nseed {}\n{}\n", config, seed, c10::toString(dtype)));
}

// The moving average comes first, since it is what the run has evaluated.
std::string tuned_file_of(const std::string& folder) {
  if (std::filesystem::exists(CheckpointStore::average_file(folder))) return kAverageFile;
  return std::filesystem::exists(std::filesystem::path(folder) / kAdapterConfigFile) ? kAdapterFile : kModelFile;
}

void load_average(Llama& network, const std::string& checkpoint) {
  const at::NoGradGuard no_grad;
  ModelFolder::of_file(CheckpointStore::average_file(checkpoint))
      .load_into(network.weights(), output_layer_of(network.config()));
}

AdapterOptions adapter_options_of(const AdapterConfig& config, NameMatcher matcher) {
  AdapterOptions adapters;
  adapters.settings = config.settings;
  adapters.settings.dropout = 0;  // which belongs to the training that wrote the file
  adapters.matcher = std::move(matcher);
  return adapters;
}

void attach_adapters(Llama& network, const PeftAdapter& adapter, at::ScalarType dtype, NameMatcher matcher) {
  AdapterOptions options = adapter_options_of(adapter.config(), std::move(matcher));
  options.file = adapter.path();
  options.dtype = dtype;
  network.add_adapters(options);
  const at::NoGradGuard no_grad;
  adapter.load_into(network.adapters());
}

}  // namespace multicard
