#include "nn/language/LanguageFactory.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include <ATen/core/grad_mode.h>

#include "nn/language/LanguageNetwork.hpp"
#include "nn/language/Llama.hpp"
#include "nn/layers/InitialWeights.hpp"
#include "state/ModelFolder.hpp"

namespace multicard {
namespace {

/// Whether one of the names stands for a layer: from its beginning to a dot, or at its end, as transformers has it.
/// Patterns are not looked into: where there are weights, their tensors tell.
bool is_skipped(const std::string& layer, const std::vector<std::string>& modules) {
  return std::any_of(modules.begin(), modules.end(), [&](const std::string& module) {
    return layer == module || layer.starts_with(module + ".") || (!module.empty() && layer.ends_with(module));
  });
}

/// The last part of a layer's name: which of a block's layers it is.
std::string place_in_block(const std::string& layer) {
  return layer.substr(layer.rfind('.') + 1);
}

/// Keeps a layer whole where all blocks do: so all blocks are equal.
void make_blocks_equal(LlamaConfig& config) {
  std::map<std::string, std::int64_t> counts;
  for (const std::string& layer : config.whole_layers)
    ++counts[place_in_block(layer)];
  std::erase_if(config.whole_layers,
                [&](const std::string& layer) { return counts[place_in_block(layer)] < config.num_layers; });
}

/// Weights that a folder stores in 4 bits are held so.
WeightFormat format_for(const LlamaConfig& config, WeightFormat format) {
  if (config.is_stored_in_nf4) format.kind = WeightFormat::Kind::nf4;
  if (config.int4_group_size > 0) {
    format.kind = WeightFormat::Kind::int4;
    format.group_size = config.int4_group_size;
  }
  return format;
}

/// Gives the plan the scales of weights that files store in NF4, quantised or not, where they store any.
void take_nesting(const ModelFolder& files, NetworkPlan& plan) {
  if (plan.format.kind != WeightFormat::Kind::nf4) return;
  const std::vector<std::string> layers = Llama(plan.config, at::kFloat, at::kMeta).linear_layers();
  const auto packed = std::find_if(layers.begin(), layers.end(),
                                   [&](const std::string& layer) { return files.is_packed(layer + ".weight"); });
  if (packed == layers.end()) return;
  plan.format.nested = files.has_nested_scales(*packed + ".weight") ? DoubleQuantisation::on : DoubleQuantisation::off;
}

std::int64_t weight_bytes(const NetworkPlan& plan) {
  return Llama(plan.config, plan.dtype, at::kMeta, plan.format).weight_bytes();
}

}  // namespace

// Which layers of an NF4 folder are whole decides the shapes of a network. Where there are files they say so
// themselves, which counts more than llm_int8_skip_modules, whose names transformers matches loosely.
LlamaConfig network_config_of(const std::string& folder, WeightsOf weights) {
  LlamaConfig config = LlamaConfig::read(folder);
  if (!config.is_stored_in_nf4) return config;
  const std::vector<std::string> layers = Llama(config, at::kFloat, at::kMeta).linear_layers();
  std::optional<ModelFolder> files;
  if (weights == WeightsOf::files) files = ModelFolder::open(folder);
  for (const std::string& layer : layers)
    if (files ? !files->is_packed(layer + ".weight") : is_skipped(layer, config.skipped_modules))
      config.whole_layers.insert(layer);
  return config;
}

// Without the files' values: only sizes matter to a measurement, and zeros are made in a moment.
NetworkPlan plan_of_layers(const std::string& folder, at::ScalarType dtype, std::int64_t num_layers,
                           WeightFormat format) {
  NetworkPlan plan = plan_of_shape(folder, dtype, format);
  LlamaConfig& config = plan.config;
  make_blocks_equal(config);
  config.num_layers = std::min(num_layers, config.num_layers);
  if (!config.windows.empty()) config.windows.resize(static_cast<std::size_t>(config.num_layers));
  return plan;
}

NetworkPlan plan_of_shape(const std::string& folder, at::ScalarType dtype, WeightFormat format) {
  NetworkPlan plan{network_config_of(folder, has_weights(folder) ? WeightsOf::files : WeightsOf::chance), dtype};
  plan.format = format_for(plan.config, format);
  if (plan.config.is_stored_in_nf4 && has_weights(folder)) take_nesting(ModelFolder::open(folder), plan);
  return plan;
}

// The measurement with one and two layers extrapolates equal blocks; this is what it cannot see.
std::int64_t bytes_beyond_equal_blocks(const std::string& folder, at::ScalarType dtype, WeightFormat format) {
  NetworkPlan plan = plan_of_shape(folder, dtype, format);
  const std::int64_t bytes = weight_bytes(plan);
  make_blocks_equal(plan.config);
  return bytes - weight_bytes(plan);
}

// All names, shapes and sizes are checked against a network without memory (meta) before any memory is taken: a wrong
// folder is found in a moment.
NetworkPlan plan_network(const std::string& folder, at::ScalarType dtype, std::optional<std::uint64_t> random_seed,
                         WeightFormat format) {
  NetworkPlan plan{network_config_of(folder, random_seed ? WeightsOf::chance : WeightsOf::files), dtype};
  plan.format = format_for(plan.config, format);
  plan.random_seed = random_seed;
  if (random_seed) return plan;
  plan.files = ModelFolder::open(folder);
  take_nesting(*plan.files, plan);
  check_files(plan);
  return plan;
}

void check_files(const NetworkPlan& plan) {
  Llama shapes(plan.config, plan.dtype, at::kMeta, plan.format);
  plan.files->check(shapes.weights(), shapes.sinks(), output_layer_of(plan.config));
}

std::unique_ptr<Llama> load_network(const std::string& folder, at::ScalarType dtype, at::Device device,
                                    std::optional<std::uint64_t> random_seed, WeightFormat format) {
  return load_network(plan_network(folder, dtype, random_seed, format), device);
}

std::unique_ptr<Llama> load_network(const NetworkPlan& plan, at::Device device) {
  auto network = std::make_unique<Llama>(plan.config, plan.dtype, device, plan.format);
  const at::NoGradGuard no_grad;
  if (plan.files)
    plan.files->load_into(network->weights(), network->sinks(), output_layer_of(plan.config));
  else if (plan.random_seed)
    network->initialise(*plan.random_seed);
  else
    fill_zeros(network->weights());
  return network;
}

}  // namespace multicard
