#pragma once
// Runs and studies without files.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "findings/Finding.hpp"
#include "postproc/study/Collection.hpp"
#include "postproc/study/Study.hpp"
#include "tasks/options/SettingKeys.hpp"

namespace multicard::post {

/// A run that did `rate` rows a second, all of them known to 2 %.
inline RunReport run_of(std::map<std::string, std::string> settings, int ranks, double rate, std::int64_t repeat = 0) {
  RunReport run;
  run.name = std::to_string(repeat);
  run.settings = std::move(settings);
  run.settings["ranks"] = std::to_string(ranks);
  run.settings["repeat"] = std::to_string(repeat);
  run.ranks = ranks;
  run.repeat = repeat;
  run.status = "complete";
  run.rate = {rate, Interval{0.98 * rate, 1.02 * rate}, Basis::steps, 30};
  run.step_time = {64 / rate, std::nullopt, Basis::none, 30};
  run.mean_step = 64 / rate;
  run.phases = {0, 0, 0.3 * run.mean_step, 0.6 * run.mean_step, 0.1 * run.mean_step, 0, 0};
  run.exposed_share = 0.1;
  run.data_wait_share = 0;
  run.num_steps = run.num_measured = 30;
  return run;
}

/// One file that holds `runs`.
inline Study study_of(std::vector<RunReport> runs) {
  const std::vector<Source> sources{{"results.h5", {}, {}, {}, known_setting_keys()}};
  return make_study(sources, std::move(runs), KeyTable(sources));
}

/// The finding with this id; one without text where there is none.
inline Finding finding_of(const Findings& findings, const std::string& id) {
  for (const Finding& finding : findings)
    if (finding.id == id) return finding;
  return {};
}

/// One file of nothing but `study`.
inline Collection collection_of(Study study) {
  Collection collection;
  collection.sources = study.sources;
  collection.studies.push_back(std::move(study));
  return collection;
}

}  // namespace multicard::post
