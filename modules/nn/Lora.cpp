#include "nn/Lora.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/Error.hpp"
#include "base/Text.hpp"

namespace multicard {
namespace {

const char* const kAllLinear = "all-linear";

bool ends_in(const std::string& name, const std::string& target) {
  return name == target || name.ends_with("." + target);
}

bool ends_any(const std::vector<std::string>& names, const std::string& target) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return ends_in(name, target); });
}

void check_values(const AdapterOptions& options) {
  if (options.rank < 1 || options.rank > 65536)
    throw UsageError("method.rank is " + std::to_string(options.rank), "it is a number from 1 to 65536");
  if (!(options.alpha > 0) || !std::isfinite(options.alpha))
    throw UsageError("method.alpha is " + significant(options.alpha), "it is a number above 0");
  if (!(options.dropout >= 0 && options.dropout < 1))
    throw UsageError("method.dropout is " + significant(options.dropout), "it is a probability below 1");
  if (options.targets.empty()) throw UsageError("method.targets is empty", "nothing would be trained");
}

[[noreturn]] void refuse_targets(const AdapterOptions& options, const std::string& problem, const std::string& why,
                                 const std::string& suggestion = {}) {
  if (options.file.empty()) throw UsageError("method.targets: " + problem, why, suggestion);
  throw DataError(options.file + ": target_modules: " + problem, why, suggestion);
}

[[noreturn]] void refuse_target(const AdapterOptions& options, const std::string& target,
                                const std::vector<std::string>& names) {
  if (target == "lm_head" || target == "embed_tokens" || target == "model.embed_tokens")
    refuse_targets(options, target + " cannot be adapted", "adapters belong to layers of the blocks");
  std::vector<std::string> known{kAllLinear};
  for (const std::string& name : names) {
    const std::string last = name.substr(name.rfind('.') + 1);
    if (std::find(known.begin(), known.end(), last) == known.end()) known.push_back(last);
  }
  const auto near = nearest(target, known);
  refuse_targets(options, "\"" + target + "\" matches no linear layer",
                 "they are named like " + names.front() + " and " + names.back(),
                 near ? "Did you mean " + *near + "?" : "");
}

std::vector<std::string> matching_expression(const AdapterOptions& options, const std::vector<std::string>& names) {
  if (!options.matcher) throw std::logic_error("targets that may be an expression need a matcher");
  const std::string& expression = options.targets[0];
  std::vector<std::string> matching;
  try {
    matching = options.matcher(expression, names);
  } catch (const DataError& error) {
    refuse_targets(options, error.problem(), error.why());
  }
  if (matching.empty()) refuse_target(options, expression, names);
  return matching;
}

}  // namespace

double AdapterOptions::scaling() const {
  return rslora ? alpha / std::sqrt(rank) : alpha / rank;
}

std::vector<std::string> adapted_layers(const AdapterOptions& options, const std::vector<std::string>& names) {
  check_values(options);
  const std::vector<std::string>& targets = options.targets;
  if (targets.size() == 1 && targets[0] == kAllLinear) return names;
  if (targets.size() == 1 && !ends_any(names, targets[0])) return matching_expression(options, names);
  for (const std::string& target : targets)
    if (!ends_any(names, target)) refuse_target(options, target, names);
  std::vector<std::string> matching;
  std::copy_if(names.begin(), names.end(), std::back_inserter(matching), [&](const std::string& name) {
    return std::any_of(targets.begin(), targets.end(),
                       [&](const std::string& target) { return ends_in(name, target); });
  });
  return matching;
}

}  // namespace multicard
