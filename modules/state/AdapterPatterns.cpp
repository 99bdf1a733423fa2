#include "state/AdapterPatterns.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

namespace multicard {

namespace {

/// Calls `set` with the number of each layer and the value of the first pattern that matches it.
template <class T, class Set>
void for_each_first_match(const LayerPatterns<T>& patterns, const std::vector<std::string>& layers,
                          const NameMatcher& matcher, const Set& set) {
  std::vector<bool> is_set(layers.size(), false);
  for (const auto& [pattern, value] : patterns) {
    const std::vector<std::string> found = layers_matching(pattern, layers, matcher);
    const std::set<std::string> matching(found.begin(), found.end());
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (is_set[i] || !matching.contains(layers[i])) continue;
      is_set[i] = true;
      set(i, value);
    }
  }
}

}  // namespace

double LayerAdapter::scaling(bool rslora) const {
  return alpha / (rslora ? std::sqrt(static_cast<double>(rank)) : static_cast<double>(rank));
}

std::vector<LayerAdapter> AdapterPatterns::apply(LayerAdapter common, const std::vector<std::string>& layers,
                                                 const NameMatcher& matcher) const {
  // Rank and alpha are matched apart from each other, as in PEFT: a pattern for the rank leaves the common alpha.
  std::vector<LayerAdapter> adapters(layers.size(), common);
  for_each_first_match(rank, layers, matcher, [&](std::size_t i, int value) { adapters[i].rank = value; });
  for_each_first_match(alpha, layers, matcher, [&](std::size_t i, double value) { adapters[i].alpha = value; });
  return adapters;
}

std::vector<std::string> layers_matching(const std::string& pattern, const std::vector<std::string>& layers,
                                         const NameMatcher& matcher) {
  if (!matcher) throw std::logic_error("patterns of layers need a matcher");
  return matcher("(.*\\.)?(" + pattern + ")", layers, pattern);  // PEFT's get_pattern_key()
}

bool is_module_to_save(const std::string& module, const std::vector<std::string>& modules_to_save) {
  return std::any_of(modules_to_save.begin(), modules_to_save.end(),
                     [&](const std::string& name) { return module.ends_with(name); });
}

}  // namespace multicard
