#include "nn/vision/NetworkFactory.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Log.hpp"
#include "base/Text.hpp"
#include "nn/vision/EfficientNet.hpp"
#include "nn/vision/MobileNetV2.hpp"
#include "nn/vision/ResNet.hpp"
#include "state/CheckpointStore.hpp"
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

// By place in the state dictionary, which is the same for any number of classes.
void copy_all_but_classifier(const Network& from, const Network& to) {
  const at::NoGradGuard no_grad;
  const std::vector<std::string>& names = to.classifier_names();
  for (std::size_t i = 0; i < to.state().size(); ++i)
    if (std::find(names.begin(), names.end(), to.state()[i].name) == names.end())
      at::Tensor(to.state()[i].tensor).copy_(from.state()[i].tensor);
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

// With another number of classes the file is read into a second network of its own shape, so that its names and shapes
// are checked as strictly as otherwise.
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

}  // namespace multicard
