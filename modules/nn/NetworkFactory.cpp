#include "nn/NetworkFactory.hpp"

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "nn/MobileNetV2.hpp"

namespace multicard {
namespace {

void require(bool holds, const std::string& what, const std::string& got) {
  if (!holds) throw UsageError(what, "it is " + got);
}

void check(const NetworkOptions& options) {
  require(options.width > 0 && options.width <= 16, "model.width must be above 0 and at most 16",
          significant(options.width));
  require(options.classes >= 1, "model.classes must be at least 1", std::to_string(options.classes));
  require(options.dropout >= 0 && options.dropout < 1, "model.dropout must be at least 0 and below 1",
          significant(options.dropout));
}

}  // namespace

std::vector<std::string> network_names() {
  return {"mobilenet_v2"};
}

std::unique_ptr<Network> make_network(const std::string& name, const NetworkOptions& options) {
  check(options);
  if (name == "mobilenet_v2") return std::make_unique<MobileNetV2>(options);
  const auto near = nearest(name, network_names());
  throw UsageError("there is no network \"" + name + "\"", "known: " + join(network_names(), ", "),
                   near ? "Did you mean " + *near + "?" : "");
}

}  // namespace multicard
