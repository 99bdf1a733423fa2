#include "postproc/study/Axes.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "postproc/study/Labels.hpp"

namespace multicard::post {

namespace {

/// Settings that stand for several others.
bool is_name_of_a_set(const std::string& key) {
  return short_key(key) == "case" || key == "machine" || key == "share_task";
}

/// Whether all settings of the set belong to its name, those that change the work too.
bool is_name_of_everything(const std::string& key) {
  return key == "machine" || key == "share_task";
}

/// One value per run; nothing where the run does not have it.
using Values = std::vector<std::optional<std::string>>;

/// A failed run has what the sweep set (deck paths), but not the attributes that a run writes itself.
Values values_of(const std::vector<RunReport>& runs, const std::string& key) {
  Values values;
  for (const RunReport& run : runs) {
    const std::string value = setting(run, key);
    const bool unknown = value.empty() && run.status == "failed";
    values.push_back(unknown ? std::nullopt : std::optional(value));
  }
  return values;
}

/// Whether equal `keys` always mean equal `values`, where both are known.
bool follows(const Values& keys, const Values& values) {
  std::map<std::string, std::string> seen;
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (keys[i] && values[i] && seen.emplace(*keys[i], *values[i]).first->second != *values[i]) return false;
  return true;
}

/// All keys: names of sets first, then deck paths, which every run of a sweep has, then attributes of runs.
std::vector<std::string> candidates(const std::vector<RunReport>& runs, const KeyTable& table) {
  std::set<std::string> keys;
  for (const RunReport& run : runs)
    for (const auto& [key, value] : run.settings)
      if (!table.is_bookkeeping(key) && !table.is_resolved(key)) keys.insert(key);
  std::vector<std::string> out(keys.begin(), keys.end());
  const auto place = [](const std::string& key) {
    return is_name_of_a_set(key) ? 0 : key.find('.') != std::string::npos ? 1 : 2;
  };
  std::ranges::stable_sort(out, [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return out;
}

/// In the order of the runs, which is that of the sweep: the first value is often the baseline.
std::vector<std::string> distinct(const Values& values) {
  std::vector<std::string> out;
  for (const auto& value : values)
    if (value) add_once(out, *value);
  return out;
}

/// Whether `key` is a named set of settings that chooses the data set and what suits it, or one tuning method each: the
/// name then stands for the work.
bool names_work(const std::vector<RunReport>& runs, const std::string& key) {
  if (short_key(key) != "case") return false;
  // Methods and names must follow from each other: a case that sets more than the method does not stand for it.
  const Values names = values_of(runs, key), data = values_of(runs, "data.train"), methods = values_of(runs, "method");
  const bool is_of_data = distinct(data).size() > 1 && follows(names, data);
  return is_of_data || (distinct(methods).size() > 1 && follows(names, methods) && follows(methods, names));
}

/// Whether `key` repeats one of `axes`: the same setting written differently (true and 1), or one of the
/// settings of a named set. Settings that change the work count even there, or cases would be compared that do not
/// do the same work.
bool says_again(const std::vector<RunReport>& runs, const std::string& key, const std::vector<Axis>& axes,
                const KeyTable& table) {
  const Values values = values_of(runs, key);
  return std::ranges::any_of(axes, [&](const Axis& axis) {
    const Values known = values_of(runs, axis.key);
    const bool same_setting = short_key(axis.key) == short_key(key) && follows(values, known);
    const bool in_set =
        is_name_of_everything(axis.key) || (is_name_of_a_set(axis.key) && (axis.is_work || !table.changes_work(key)));
    return (same_setting || in_set) && follows(known, values);
  });
}

/// Attributes that runs find in their inputs or conclude from several settings.
bool is_found(const std::string& key) {
  return key == "dataset" || key == "template" || key == "scaling";
}

bool follows_any(const std::vector<RunReport>& runs, const std::string& key, const std::vector<Axis>& axes) {
  const Values values = values_of(runs, key);
  return std::ranges::any_of(axes, [&](const Axis& axis) { return follows(values_of(runs, axis.key), values); });
}

}  // namespace

std::string setting(const RunReport& run, const std::string& key) {
  const auto found = run.settings.find(key);
  return found == run.settings.end() ? std::string() : found->second;
}

std::vector<Axis> find_axes(const std::vector<RunReport>& runs, const KeyTable& table) {
  std::vector<Axis> axes;
  for (const std::string& key : candidates(runs, table)) {
    // An axis has two values at least, is not a repetition of an earlier one, and not found in what another axis chose.
    const std::vector<std::string> different = distinct(values_of(runs, key));
    if (different.size() < 2 || says_again(runs, key, axes, table)) continue;
    if (is_found(key) && follows_any(runs, key, axes)) continue;
    axes.push_back({key, different, table.changes_work(key) || names_work(runs, key), table.changes_learning(key)});
  }
  return axes;
}

Scaling find_scaling(const std::vector<RunReport>& runs) {
  bool any_strong = false, any_weak = false;
  for (const RunReport& run : runs) {
    // Sweeps record their scaling; a key that fixes the batch of a rank means weak scaling too.
    const std::string said = setting(run, "scaling");
    const bool fixes_batch_per_rank =
        !setting(run, "batch_per_rank").empty() || !setting(run, "run.batch_per_rank").empty();
    if (said == "weak" || fixes_batch_per_rank)
      any_weak = true;
    else if (said == "strong" || run.status != "failed")
      any_strong = true;
  }
  if (any_weak && any_strong) return Scaling::mixed;
  return any_weak ? Scaling::weak : Scaling::strong;
}

}  // namespace multicard::post
