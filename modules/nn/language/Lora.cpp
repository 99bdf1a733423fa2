#include "nn/language/Lora.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/Error.hpp"
#include "base/Text.hpp"

namespace multicard {
namespace {

// PEFT's target_modules: a list of names that end at a dot of the layer's name, a single string that is a regular
// expression for whole names, or all-linear, which leaves out the output layer.
const char* const kAllLinear = "all-linear";

bool ends_in(const std::string& name, const std::string& target) {
  return name == target || name.ends_with("." + target);
}

bool ends_any(const std::vector<std::string>& names, const std::string& target) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return ends_in(name, target); });
}

/// Of the whole adapter or of one layer.
void check_shape(const AdapterOptions& options, const LayerAdapter& adapter) {
  const auto refuse = [&](const std::string& name, const std::string& value, const char* why) {
    if (options.file.empty()) throw UsageError("method." + name + " is " + value, why);
    throw DataError(options.file + ": the " + name + " of an adapter is " + value, why);
  };
  if (adapter.rank < 1 || adapter.rank > 65536)
    refuse("rank", std::to_string(adapter.rank), "it is a number from 1 to 65536");
  if (!(adapter.alpha > 0) || !std::isfinite(adapter.alpha))
    refuse("alpha", significant(adapter.alpha), "it is a number above 0");
}

void check_values(const AdapterOptions& options) {
  check_shape(options, options.settings.common());
  if (!(options.settings.dropout >= 0 && options.settings.dropout < 1))
    throw UsageError("method.dropout is " + significant(options.settings.dropout), "it is a probability below 1");
  if (options.settings.targets.empty()) throw UsageError("method.targets is empty", "nothing would be trained");
}

/// \param key of the section method; in files it has the same name but for targets
[[noreturn]] void refuse(const AdapterOptions& options, const std::string& key, const std::string& problem,
                         const std::string& why, const std::string& suggestion = {}) {
  if (options.file.empty()) throw UsageError("method." + key + ": " + problem, why, suggestion);
  throw DataError(options.file + ": " + key + ": " + problem, why, suggestion);
}

[[noreturn]] void refuse_targets(const AdapterOptions& options, const std::string& problem, const std::string& why,
                                 const std::string& suggestion = {}) {
  refuse(options, options.file.empty() ? "targets" : "target_modules", problem, why, suggestion);
}

bool is_outside_blocks(const std::string& target) {
  return target == "lm_head" || target == "embed_tokens" || target == "model.embed_tokens";
}

[[noreturn]] void refuse_target(const AdapterOptions& options, const std::string& target,
                                const std::vector<std::string>& names) {
  if (is_outside_blocks(target))
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

// The expression comes from a file of unknown origin and may take exponential time: the matcher has limits.
std::vector<std::string> matching_expression(const AdapterOptions& options, const std::vector<std::string>& names) {
  if (!options.matcher) throw std::logic_error("targets that may be an expression need a matcher");
  const std::string& expression = options.settings.targets[0];
  std::vector<std::string> matching;
  try {
    matching = options.matcher(expression, names, expression);
  } catch (const DataError& error) {
    refuse_targets(options, error.problem(), error.why());
  }
  if (matching.empty()) refuse_target(options, expression, names);
  return matching;
}

/// A typing error in a deck; a file may have patterns of other models.
template <class T>
void check_patterns(const AdapterOptions& options, const char* key, const LayerPatterns<T>& patterns,
                    const std::vector<std::string>& layers) {
  for (const auto& [pattern, value] : patterns) {
    std::vector<std::string> matching;
    try {
      matching = layers_matching(pattern, layers, options.matcher);
    } catch (const DataError& error) {
      refuse(options, key, error.problem(), error.why());
    }
    if (matching.empty() && options.file.empty() && !layers.empty())
      refuse(options, key, "\"" + pattern + "\" matches no layer with an adapter",
             "they are named like " + layers.front() + " and " + layers.back(),
             "A pattern matches a whole name or its last parts, such as q_proj.");
  }
}

bool names_any(const std::string& end, const std::vector<std::string>& modules) {
  return std::any_of(modules.begin(), modules.end(),
                     [&](const std::string& module) { return is_module_to_save(module, {end}); });
}

}  // namespace

std::vector<std::string> adapted_layers(const AdapterOptions& options, const std::vector<std::string>& names) {
  check_values(options);
  const std::vector<std::string>& targets = options.settings.targets;
  if (targets.size() == 1 && targets[0] == kAllLinear) return names;
  if (targets.size() == 1 && !ends_any(names, targets[0])) return matching_expression(options, names);
  // A typing error in a deck; files list layers of several families of models, and PEFT adapts those that are there.
  const auto is_here = [&](const std::string& target) { return ends_any(names, target); };
  const bool may_lack = !options.file.empty() && std::any_of(targets.begin(), targets.end(), is_here);
  for (const std::string& target : targets)
    if (!is_here(target) && (!may_lack || is_outside_blocks(target))) refuse_target(options, target, names);
  std::vector<std::string> matching;
  std::copy_if(names.begin(), names.end(), std::back_inserter(matching), [&](const std::string& name) {
    return std::any_of(targets.begin(), targets.end(),
                       [&](const std::string& target) { return ends_in(name, target); });
  });
  return matching;
}

std::vector<LayerAdapter> layer_adapters(const AdapterOptions& options, const std::vector<std::string>& layers) {
  check_patterns(options, "rank_pattern", options.settings.patterns.rank, layers);
  check_patterns(options, "alpha_pattern", options.settings.patterns.alpha, layers);
  std::vector<LayerAdapter> adapters =
      options.settings.patterns.apply(options.settings.common(), layers, options.matcher);
  for (const LayerAdapter& adapter : adapters)
    check_shape(options, adapter);
  return adapters;
}

// A linear layer of a block cannot be both adapted and trained whole.
std::vector<std::string> saved_modules(const AdapterOptions& options, const std::vector<std::string>& modules,
                                       const std::vector<std::string>& linear) {
  for (const std::string& name : options.settings.modules_to_save) {
    if (names_any(name, linear))
      refuse(options, "modules_to_save", "\"" + name + "\" names linear layers of the blocks", "they have adapters",
             "Name embed_tokens, lm_head or norms; raise the rank of other layers with rank_pattern.");
    if (!names_any(name, modules))
      refuse(options, "modules_to_save", "\"" + name + "\" is no module that can be trained whole",
             "those are embed_tokens, lm_head and the norms");
  }
  std::vector<std::string> saved;
  std::copy_if(modules.begin(), modules.end(), std::back_inserter(saved),
               [&](const std::string& module) { return is_module_to_save(module, options.settings.modules_to_save); });
  return saved;
}

}  // namespace multicard
