#include "postproc/study/ConfigurationLabels.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/study/Axes.hpp"
#include "postproc/study/Labels.hpp"
#include "postproc/study/Methods.hpp"

namespace multicard::post {

namespace {

/// The value itself; a long one, which is shown shortened, with its number among `values`.
std::string unambiguous(const std::string& value, const std::vector<std::string>& values) {
  if (value.size() <= kLongestLabel) return value;
  const auto number = std::ranges::find(values, value) - values.begin() + 1;
  return fmt::format("{} ({})", short_value(value), number);
}

}  // namespace

std::string label_of(const Study& study, const std::map<std::string, std::string>& settings, bool of_work) {
  std::vector<std::string> parts;
  for (const Axis& axis : study.axes) {
    if (axis.is_work != of_work) continue;
    const std::string& value = settings.at(axis.key);
    const std::string label = study.keys.label(axis.key, value);
    const auto reads_so = [&](const std::string& other) { return study.keys.label(axis.key, other) == label; };
    // Models in different folders may have the same name.
    const bool is_ambiguous = std::ranges::count_if(axis.values, reads_so) > 1;
    parts.push_back(is_ambiguous ? unambiguous(value, axis.values) : label);
  }
  return join(parts, ", ");
}

std::string plain_label(const Study& study, const RunReport& any) {
  // Failed runs may lack attributes that complete ones have.
  const auto knows = [](const RunReport& run) { return run.status != "failed"; };
  const auto found = std::ranges::find_if(study.runs, knows);
  const RunReport& run = found == study.runs.end() ? any : *found;
  if (const std::string task = setting(run, "share_task"); !task.empty()) return task;
  std::vector<std::string> parts;
  for (const char* key : {"model", "method", "strategy", "precision"}) {
    const std::string found_value = std::string(key) == "method" ? method_of(run) : setting(run, key);
    const auto differs = [&](const RunReport& other) {
      return knows(other) && setting(other, key) != setting(run, key);
    };
    if (std::ranges::any_of(study.runs, differs)) continue;
    if (const std::string value = short_value(last_name(found_value)); !value.empty()) parts.push_back(value);
  }
  return parts.empty() ? run.name : join(parts, ", ");
}

}  // namespace multicard::post
