#include "nn/NetworkFactory.hpp"

#include <algorithm>
#include <array>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "nn/EfficientNet.hpp"
#include "nn/MobileNetV2.hpp"
#include "nn/ResNet.hpp"

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
    {{"mobilenet_v2", {.width = true, .dropout = true}, make<MobileNetV2>},
     {"resnet18", {}, make_resnet<ResNet::Depth::layers18>},
     {"resnet50", {}, make_resnet<ResNet::Depth::layers50>},
     {"efficientnet_b0", {.dropout = true, .stochastic_depth = true}, make<EfficientNet>}}};

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

}  // namespace

std::vector<std::string> network_names() {
  std::vector<std::string> names;
  names.reserve(kDefinitions.size());
  for (const Definition& definition : kDefinitions)
    names.emplace_back(definition.name);
  return names;
}

std::unique_ptr<Network> make_network(const std::string& name, const NetworkOptions& options) {
  const auto* const definition = std::find_if(kDefinitions.begin(), kDefinitions.end(),
                                              [&](const Definition& known) { return known.name == name; });
  if (definition == kDefinitions.end()) {
    const auto near = nearest(name, network_names());
    throw UsageError("unknown network \"" + name + "\"", "known: " + join(network_names(), ", "),
                     near ? "Did you mean " + *near + "?" : "");
  }
  check_ranges(options);
  check_features(*definition, options);
  return definition->make(options);
}

}  // namespace multicard
