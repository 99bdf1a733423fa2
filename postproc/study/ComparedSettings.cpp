// Settings and surroundings in which two results differ.

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "base/Text.hpp"
#include "postproc/study/Axes.hpp"
#include "postproc/study/Comparison.hpp"
#include "postproc/study/DeckSettings.hpp"
#include "postproc/study/Labels.hpp"
#include "postproc/study/Ranking.hpp"
#include "results/DeckText.hpp"

namespace multicard::post {

namespace {

using Values = std::map<std::string, std::string>;

/// Attributes that say what a run resolved or found, but nothing of how it went.
constexpr std::array<std::string_view, 10> kAttributes{"backend",        "device",      "threads", "micro_batch",
                                                       "max_length",     "sequences",   "dataset", "model_dtype",
                                                       "num_parameters", "architecture"};

const RunReport& shown_run(const Study& study, const Cell& cell) {
  return cell.measured.empty() ? study.runs[cell.runs.front()] : representative(study, cell);
}

/// The resolved deck, and what else distinguishes runs.
Values settings_of(const RunReport& run, int ranks) {
  Values values = deck_values(run.deck);
  values["ranks"] = std::to_string(ranks);
  for (const std::string_view key : kAttributes)
    if (const std::string value = setting(run, std::string(key)); !value.empty()) values.emplace(key, value);
  return values;
}

std::string effect_of(const KeyTable& keys, const std::string& key) {
  // Another machine changes how fast the same work is done.
  if (key == "ranks" || key == "machine" || short_key(key) == "device") return "speed";
  // Of what the run resolved: another model.
  if (key == "num_parameters" || key == "architecture") return "work";
  if (keys.is_bookkeeping(key)) return "bookkeeping";
  if (keys.changes_work(key)) return "work";
  return keys.changes_learning(key) ? "learning" : "speed";
}

/// Calls `report(key, a, b)` for each key whose values are not the same.
template <class Report>
void for_each_difference(const Values& a, const Values& b, const Report& report) {
  std::set<std::string> keys;
  for (const Values* values : {&a, &b})
    for (const auto& [key, value] : *values)
      keys.insert(key);
  const auto value_in = [](const Values& values, const std::string& key) {
    const auto found = values.find(key);
    return found == values.end() ? std::string() : found->second;
  };
  for (const std::string& key : keys) {
    const std::string of_a = value_in(a, key), of_b = value_in(b, key);
    if (!same_value(of_a, of_b)) report(key, of_a, of_b);
  }
}

/// Of one configuration, or with num_cells 0 of an evaluation.
void add_setting(std::vector<ComparedSetting>& all, const ComparedSetting& setting) {
  const auto found = std::ranges::find_if(all, [&](const ComparedSetting& known) {
    return known.key == setting.key && known.a == setting.a && known.b == setting.b;
  });
  if (found != all.end())
    found->num_cells += setting.num_cells;
  else
    all.push_back(setting);
}

/// Whether a key says what an evaluation was on. Shards for training are no part of one that names others.
bool is_evaluated_data(const KeyTable& keys, const std::string& key, bool has_test) {
  if (key == "dataset" || key == "data.test") return true;
  return key.starts_with("data.") && keys.changes_work(key) && !(has_test && key == "data.train");
}

void compare_evaluation(const KeyTable& keys, ComparedEvaluation& evaluation, std::vector<ComparedSetting>& settings) {
  const Values a = settings_of(*evaluation.run_a, evaluation.run_a->ranks),
               b = settings_of(*evaluation.run_b, evaluation.run_b->ranks);
  const bool has_test = a.contains("data.test") && b.contains("data.test");
  for_each_difference(a, b, [&](const std::string& key, const std::string& of_a, const std::string& of_b) {
    const bool is_data = is_evaluated_data(keys, key, has_test);
    const ComparedSetting setting{key, of_a, of_b, is_data ? "work" : effect_of(keys, key), 0};
    if (is_data) evaluation.data.push_back(setting);
    add_setting(settings, setting);
  });
}

/// Variables that differ from job to job whatever the program does: identifiers, names of hosts, places on them.
bool is_of_one_job(const std::string& variable) {
  constexpr std::array<std::string_view, 6> kOfOpenMpi{"OMPI_MCA_orte",         "OMPI_MCA_ess",
                                                       "OMPI_MCA_pmix",         "OMPI_MCA_plm",
                                                       "OMPI_MCA_initial_wdir", "OMPI_MCA_shmem_RUNTIME"};
  constexpr std::array<std::string_view, 7> kOfSlurm{
      "SLURM_CPUS_PER_TASK", "SLURM_NTASKS", "SLURM_NNODES", "SLURM_JOB_PARTITION",
      "SLURM_CPU_BIND",      "SLURM_GPUS",   "SLURM_MEM"};
  const auto begins = [&](std::string_view prefix) { return variable.starts_with(prefix); };
  if (variable.starts_with("SLURM_")) return std::ranges::none_of(kOfSlurm, begins);
  if (!variable.starts_with("OMPI_")) return false;
  return !variable.starts_with("OMPI_MCA_") || std::ranges::any_of(kOfOpenMpi, begins);
}

/// Distinct values over the files of a result.
Values environment_of(const Collection& collection) {
  std::map<std::string, std::vector<std::string>> found;
  for (const Source& source : collection.sources) {
    for (const char* key : {"version", "git"})
      if (const auto value = source.attributes.find(key); value != source.attributes.end())
        add_once(found[key], value->second);
    for (const auto& [key, value] : source.provenance)
      add_once(found[key], value);
    for (const auto& [key, value] : source.environment)
      if (!is_of_one_job(key)) add_once(found[key], value);
  }
  Values values;
  for (const auto& [key, texts] : found)
    values[key] = join(texts, "; ");
  return values;
}

/// What changes a step first, then what is learnt, last what does neither.
int place_of(const ComparedSetting& setting) {
  constexpr std::array<std::string_view, 4> kOrder{"work", "speed", "learning", "bookkeeping"};
  return static_cast<int>(std::ranges::find(kOrder, setting.effect) - kOrder.begin());
}

}  // namespace

void compare_settings(const Collection& a, const Collection& b, Comparison& comparison) {
  for (const ComparedCell& cell : comparison.cells)
    for_each_difference(settings_of(shown_run(*cell.study_a, *cell.cell_a), cell.cell_a->ranks),
                        settings_of(shown_run(*cell.study_b, *cell.cell_b), cell.cell_b->ranks),
                        [&](const std::string& key, const std::string& of_a, const std::string& of_b) {
                          const std::string effect = effect_of(cell.study_b->keys, key);
                          add_setting(comparison.settings, {key, of_a, of_b, effect, 1});
                        });
  const KeyTable keys(b.sources);
  for (ComparedEvaluation& evaluation : comparison.evaluations)
    compare_evaluation(keys, evaluation, comparison.settings);
  std::ranges::stable_sort(comparison.settings, {}, place_of);
  for_each_difference(environment_of(a), environment_of(b),
                      [&](const std::string& key, const std::string& of_a, const std::string& of_b) {
                        comparison.environment.push_back({key, of_a, of_b, "", 0});
                      });
}

}  // namespace multicard::post
