#include "nn/NetworkFactory.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Log.hpp"
#include "base/Text.hpp"
#include "nn/EfficientNet.hpp"
#include "nn/LanguageNetwork.hpp"
#include "nn/Llama.hpp"
#include "nn/MobileNetV2.hpp"
#include "nn/ResNet.hpp"
#include "state/CheckpointStore.hpp"
#include "state/ModelFolder.hpp"
#include "state/TensorFile.hpp"

namespace multicard {
namespace {

// Which options a network takes.
struct Features {
  bool width = false, dropout = false, stochastic_depth = false;
};

struct Definition {
  std::string_view name;
  Features features;
  std::unique_ptr<Network> (*make)(const NetworkOptions&);
  std::int64_t (*total_stride)();
};

template <typename T>
std::unique_ptr<Network> make(const NetworkOptions& options) {
  return std::make_unique<T>(options);
}

template <ResNet::Depth depth>
std::unique_ptr<Network> make_resnet(const NetworkOptions& options) {
  return std::make_unique<ResNet>(depth, options);
}

constexpr std::array<Definition, 4> kDefinitions{
    {{"mobilenet_v2", {.width = true, .dropout = true}, make<MobileNetV2>, MobileNetV2::total_stride},
     {"resnet18", {}, make_resnet<ResNet::Depth::layers18>, ResNet::total_stride},
     {"resnet50", {}, make_resnet<ResNet::Depth::layers50>, ResNet::total_stride},
     {"efficientnet_b0", {.dropout = true, .stochastic_depth = true}, make<EfficientNet>, EfficientNet::total_stride}}};

const Definition& definition_of(const std::string& name) {
  const auto* const definition = std::find_if(kDefinitions.begin(), kDefinitions.end(),
                                              [&](const Definition& known) { return known.name == name; });
  if (definition != kDefinitions.end()) return *definition;
  const auto near = nearest(name, network_names());
  throw UsageError("unknown network \"" + name + "\"", "known: " + join(network_names(), ", "),
                   near ? "Did you mean " + *near + "?" : "");
}

void require(bool holds, const std::string& what, const std::string& got) {
  if (!holds) throw UsageError(what, "it is " + got);
}

void check_ranges(const NetworkOptions& options) {
  require(options.width > 0 && options.width <= 16, "model.width must be above 0 and at most 16",
          significant(options.width));
  require(options.classes >= 1, "model.classes must be at least 1", std::to_string(options.classes));
  const double dropout = options.dropout.value_or(0), depth = options.stochastic_depth.value_or(0);
  require(dropout >= 0 && dropout < 1, "model.dropout must be at least 0 and below 1", significant(dropout));
  require(depth >= 0 && depth < 1, "model.stochastic_depth must be at least 0 and below 1", significant(depth));
}

void check_features(const Definition& definition, const NetworkOptions& options) {
  const auto refuse = [&](const std::string& key, double value, double only) {
    throw UsageError("model." + key + " of " + std::string(definition.name) + " can only be " + significant(only),
                     "it is " + significant(value), "Leave it out.");
  };
  const double dropout = options.dropout.value_or(0), depth = options.stochastic_depth.value_or(0);
  if (!definition.features.width && options.width != 1) refuse("width", options.width, 1);
  if (!definition.features.dropout && dropout != 0) refuse("dropout", dropout, 0);
  if (!definition.features.stochastic_depth && depth != 0) refuse("stochastic_depth", depth, 0);
}

/// Outputs of the network that the file holds; `own` when it does not say.
std::int64_t classes_in(const TensorFile& file, const Network& network, std::int64_t own) {
  const std::string& weight = network.classifier_names().front();
  return file.contains(weight) ? file.view(weight).size(0) : own;
}

void copy_all_but_classifier(const Network& from, const Network& to) {
  const at::NoGradGuard no_grad;
  const std::vector<std::string>& names = to.classifier_names();
  for (std::size_t i = 0; i < to.state().size(); ++i)
    if (std::find(names.begin(), names.end(), to.state()[i].name) == names.end())
      at::Tensor(to.state()[i].tensor).copy_(from.state()[i].tensor);
}

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

std::int64_t weight_bytes(const LlamaConfig& config, at::ScalarType dtype, WeightFormat format) {
  return Llama(config, dtype, at::kMeta, format).weight_bytes();
}

}  // namespace

std::vector<std::string> network_names() {
  std::vector<std::string> names;
  names.reserve(kDefinitions.size());
  for (const Definition& definition : kDefinitions)
    names.emplace_back(definition.name);
  return names;
}

std::int64_t total_stride(const std::string& name) {
  return definition_of(name).total_stride();
}

std::unique_ptr<Network> make_network(const std::string& name, const NetworkOptions& options) {
  const Definition& definition = definition_of(name);
  check_ranges(options);
  check_features(definition, options);
  return definition.make(options);
}

std::unique_ptr<Network> make_network(const std::string& name, const NetworkOptions& options,
                                      const std::string& weights) {
  std::unique_ptr<Network> network = make_network(name, options);
  const TensorFile file(std::filesystem::is_directory(weights) ? CheckpointStore::model_file(weights) : weights);
  NetworkOptions in_file = options;
  in_file.classes = classes_in(file, *network, options.classes);
  if (in_file.classes == options.classes) {
    copy_into(network->state(), file);
    return network;
  }
  const std::unique_ptr<Network> whole = make_network(name, in_file);
  copy_into(whole->state(), file);
  copy_all_but_classifier(*whole, *network);
  log_info(fmt::format("{:<10}{} has {} classes: the classifier of {} is initialised from scratch", "weights",
                       file.path(), in_file.classes, options.classes));
  return network;
}

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

std::unique_ptr<Llama> zero_network(const std::string& folder, at::ScalarType dtype, at::Device device,
                                    std::int64_t num_layers, WeightFormat format) {
  LlamaConfig config = network_config_of(folder, has_weights(folder) ? WeightsOf::files : WeightsOf::chance);
  make_blocks_equal(config);
  config.num_layers = std::min(num_layers, config.num_layers);
  if (!config.windows.empty()) config.windows.resize(static_cast<std::size_t>(config.num_layers));
  auto network = std::make_unique<Llama>(config, dtype, device, format_for(config, format));
  const at::NoGradGuard no_grad;
  for (const NamedTensor& weight : network->weights())
    at::Tensor(weight.tensor).zero_();
  return network;
}

std::int64_t bytes_beyond_equal_blocks(const std::string& folder, at::ScalarType dtype, WeightFormat format) {
  LlamaConfig config = network_config_of(folder, has_weights(folder) ? WeightsOf::files : WeightsOf::chance);
  format = format_for(config, format);
  const std::int64_t bytes = weight_bytes(config, dtype, format);
  make_blocks_equal(config);
  return bytes - weight_bytes(config, dtype, format);
}

std::unique_ptr<Llama> load_network(const std::string& folder, at::ScalarType dtype, at::Device device,
                                    std::optional<std::uint64_t> random_seed, WeightFormat format) {
  const LlamaConfig config = network_config_of(folder, random_seed ? WeightsOf::chance : WeightsOf::files);
  format = format_for(config, format);
  if (random_seed) {
    auto network = std::make_unique<Llama>(config, dtype, device, format);
    network->initialise(*random_seed);
    return network;
  }
  const ModelFolder files = ModelFolder::open(folder);
  const OutputLayer output = output_layer_of(config);
  Llama shapes(config, dtype, at::kMeta, format);
  files.check(shapes.weights(), shapes.sinks(), output);
  auto network = std::make_unique<Llama>(config, dtype, device, format);
  const at::NoGradGuard no_grad;
  files.load_into(network->weights(), network->sinks(), output);
  return network;
}

}  // namespace multicard
