#include "postproc/study/RunFindings.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/Text.hpp"

namespace multicard::post {

namespace {

/// A finding of some runs.
struct Group {
  Finding worst;
  std::string worst_run;
  std::vector<std::string> runs;
};

double share_of(const Finding& finding) {
  return finding.evidence.all().at("share");
}

/// Runs of several files may have one name.
std::string name_of(const Study& study, const RunReport& run) {
  return study.sources.size() > 1 ? fmt::format("{} of {}", run.name, study.sources[run.source].path) : run.name;
}

std::vector<Group> group_by_id(const Study& study) {
  std::vector<Group> groups;
  for (const RunReport& run : study.runs)
    for (const Finding& finding : run.findings) {
      auto group = std::ranges::find(groups, finding.id, [](const Group& of) { return of.worst.id; });
      if (group == groups.end()) group = groups.insert(group, {finding, name_of(study, run), {}});
      group->runs.push_back(name_of(study, run));
      if (share_of(finding) <= share_of(group->worst)) continue;
      group->worst = finding;
      group->worst_run = group->runs.back();
    }
  return groups;
}

std::string names_text(std::vector<std::string> names) {
  // The table of runs has all of them in its file.
  constexpr std::size_t kMostNames = 4;
  if (names.size() > kMostNames) {
    names.resize(kMostNames);
    names.emplace_back("…");
  }
  return join(names, ", ");
}

/// "All 6 runs (most in 0005)", "2 of 6 runs (0000, 0005; most in 0005)"
std::string who_text(const Group& group, std::size_t all) {
  const std::string most = "most in " + group.worst_run, runs = counted(static_cast<long>(all), "run");
  if (group.runs.size() == all) return fmt::format("All {} ({})", runs, most);
  return fmt::format("{} of {} ({}{})", group.runs.size(), runs, names_text(group.runs),
                     group.runs.size() > 1 ? "; " + most : std::string());
}

}  // namespace

Findings run_findings(const Study& study) {
  Findings out;
  for (Group& group : group_by_id(study)) {
    Finding& finding = group.worst;
    const std::size_t all = study.runs.size(), some = group.runs.size();
    finding.evidence.add({{"runs", some}, {"of_runs", all}});
    if (all > 1) finding.text = fmt::format("{}: {}", who_text(group, all), finding.text);
    out.push_back(std::move(finding));
  }
  return out;
}

}  // namespace multicard::post
