#include "postproc/Axes.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "postproc/Labels.hpp"

namespace multicard::post {

namespace {

/// Settings of a run's length, place and bookkeeping, by short name.
const std::set<std::string, std::less<>> kNotCompared{"ranks",
                                                      "repeat",
                                                      "seed",
                                                      "output",
                                                      "resume",
                                                      "log_every",
                                                      "checkpoint_every",
                                                      "keep_checkpoints",
                                                      "keep_best",
                                                      "timeout_s",
                                                      "steps",
                                                      "epochs",
                                                      "skip_steps",
                                                      "tensorboard",
                                                      "total_steps",
                                                      "enabled",
                                                      "deterministic",
                                                      "every_epochs",
                                                      "every_steps",
                                                      "wall_limit",
                                                      "first_step"};

/// Settings that the program may choose itself, differently on other numbers of ranks.
bool may_follow_ranks(const std::string& key) {
  return key == "backend" || key == "global_batch";
}

using Values = std::vector<std::string>;

Values values_of(const std::vector<RunReport>& runs, const std::string& key) {
  Values values;
  for (const RunReport& run : runs)
    values.push_back(setting(run, key));
  return values;
}

bool all_equal(const Values& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
}

/// Whether equal `keys` always mean equal `values`.
bool follows(const Values& keys, const Values& values) {
  std::map<std::string, std::string> seen;
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (seen.emplace(keys[i], values[i]).first->second != values[i]) return false;
  return true;
}

Values ranks_of(const std::vector<RunReport>& runs) {
  Values values;
  for (const RunReport& run : runs)
    values.push_back(std::to_string(run.ranks));
  return values;
}

/// Keys that differ, deck paths after plain attributes, so that the plain name is kept of two that say the same.
std::vector<std::string> candidates(const std::vector<RunReport>& runs) {
  std::set<std::string> keys;
  for (const RunReport& run : runs)
    for (const auto& [key, value] : run.settings)
      keys.insert(key);
  std::vector<std::string> out;
  for (const bool with_path : {false, true})
    for (const std::string& key : keys)
      if ((key.find('.') != std::string::npos) == with_path && !kNotCompared.contains(short_key(key)))
        out.push_back(key);
  return out;
}

bool says_again(const std::vector<RunReport>& runs, const std::string& key, const std::vector<Axis>& axes) {
  const Values values = values_of(runs, key);
  return std::any_of(axes.begin(), axes.end(), [&](const Axis& axis) {
    const Values known = values_of(runs, axis.key);
    return (short_key(axis.key) == short_key(key) && known == values) ||
           (short_key(axis.key) == "case" && follows(known, values));
  });
}

std::vector<std::string> distinct(const Values& values) {
  std::vector<std::string> out;
  for (const std::string& value : values)
    if (std::find(out.begin(), out.end(), value) == out.end()) out.push_back(value);
  return out;
}

}  // namespace

std::string setting(const RunReport& run, const std::string& key) {
  const auto found = run.settings.find(key);
  return found == run.settings.end() ? std::string() : found->second;
}

std::vector<Axis> find_axes(const std::vector<RunReport>& runs) {
  std::vector<std::string> keys = candidates(runs);
  std::stable_partition(keys.begin(), keys.end(), [](const std::string& key) { return short_key(key) == "case"; });
  const bool weak = find_scaling(runs) == Scaling::weak;
  std::vector<Axis> axes;
  for (const std::string& key : keys) {
    const Values values = values_of(runs, key);
    if (all_equal(values) || says_again(runs, key, axes)) continue;
    if (may_follow_ranks(key) && follows(ranks_of(runs), values)) continue;
    if (weak && short_key(key) == "global_batch") continue;
    axes.push_back({key, distinct(values), changes_work(key)});
  }
  return axes;
}

Scaling find_scaling(const std::vector<RunReport>& runs) {
  bool any_strong = false, any_weak = false;
  for (const RunReport& run : runs) {
    const bool has_setting = !setting(run, "batch_per_rank").empty() || !setting(run, "run.batch_per_rank").empty();
    (has_setting ? any_weak : any_strong) = true;
  }
  if (any_weak && any_strong) return Scaling::mixed;
  return any_weak ? Scaling::weak : Scaling::strong;
}

}  // namespace multicard::post
