#include "nn/LanguageNetwork.hpp"

#include <filesystem>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include "io/Bytes.hpp"
#include "io/Sha256.hpp"
#include "state/CheckpointStore.hpp"

namespace multicard {

std::unique_ptr<Llama> load_network(const std::string& folder, at::ScalarType dtype, at::Device device,
                                    std::optional<std::uint64_t> random_seed) {
  const LlamaConfig config = LlamaConfig::read(folder);
  if (random_seed) {
    auto network = std::make_unique<Llama>(config, dtype, device);
    network->initialise(*random_seed);
    return network;
  }
  const ModelFolder files = ModelFolder::open(folder);
  const OutputLayer output = output_layer_of(config);
  files.check(Llama(config, dtype, at::kMeta).weights(), output);
  auto network = std::make_unique<Llama>(config, dtype, device);
  const at::NoGradGuard no_grad;
  files.load_into(network->weights(), output);
  return network;
}

std::string sha256_of_random_weights(const std::string& folder, std::uint64_t seed, at::ScalarType dtype) {
  const std::string config = read_file((std::filesystem::path(folder) / "config.json").string());
  return sha256(fmt::format("{}\nseed {}\n{}\n", config, seed, c10::toString(dtype)));
}

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
  adapters.rank = config.rank;
  adapters.alpha = config.alpha;
  adapters.rslora = config.rslora;
  adapters.targets = config.targets;
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
