#include "postproc/study/Collection.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "postproc/reduce/ReadRuns.hpp"
#include "postproc/study/Axes.hpp"
#include "postproc/study/Labels.hpp"

namespace multicard::post {

namespace {

/// The settings that differ between the runs of one file, by short name. Where a named case stands for the work, what
/// of it differs counts too: cases of equal names need not do the same.
std::set<std::string> varied(const std::vector<RunReport>& runs, const KeyTable& table) {
  std::set<std::string> keys;
  for (const Axis& axis : find_axes(runs, table)) {
    keys.insert(short_key(axis.key));
    if (!axis.is_work || short_key(axis.key) != "case") continue;
    std::map<std::string, std::set<std::string>> values;
    for (const RunReport& run : runs)
      for (const auto& [key, value] : run.settings)
        if (table.changes_work(key) && run.status != "failed") values[key].insert(value);
    for (const auto& [key, different] : values)
      if (different.size() > 1) keys.insert(short_key(key));
  }
  return keys;
}

/// "image", "llm"; empty of a run that failed before it was recorded.
std::string kind_of(const RunReport& run) {
  const auto setting = run.settings.find("task");
  return setting == run.settings.end() ? "" : setting->second;
}

/// The runs of one file that have one kind of task.
struct TaskRuns {
  std::string kind;
  std::vector<RunReport> runs;
};

/// The runs of one file by their kind of task, in the order of the file. Image and text work in one job (a share) have
/// other settings and other units. Runs that failed before anything was known of them stand with the first.
std::vector<TaskRuns> by_task(const std::vector<RunReport>& runs, std::size_t source) {
  std::vector<TaskRuns> parts;
  for (const RunReport& run : runs) {
    if (run.source != source) continue;
    const std::string kind = kind_of(run);
    if (!parts.empty() && parts.front().kind.empty()) parts.front().kind = kind;
    auto part = std::ranges::find_if(parts, [&](const TaskRuns& known) { return kind.empty() || known.kind == kind; });
    if (part == parts.end()) part = parts.insert(part, {kind, {}});
    part->runs.push_back(run);
  }
  return parts;
}

/// Runs of one study.
struct Group {
  std::string kind;
  std::set<std::string> keys;
  std::vector<Source> sources;
  std::vector<RunReport> runs;
};

/// Adds the runs to the study of the same kind in which the same settings vary; else they begin one. Their `source`
/// becomes an index into that study's sources.
void add_part(std::vector<Group>& groups, TaskRuns part, const Source& source, const KeyTable& table) {
  const std::set<std::string> keys = varied(part.runs, table);
  auto group =
      std::ranges::find_if(groups, [&](const Group& known) { return known.kind == part.kind && known.keys == keys; });
  if (group == groups.end()) group = groups.insert(groups.end(), Group{part.kind, keys, {}, {}});
  for (RunReport& run : part.runs) {
    run.source = group->sources.size();
    group->runs.push_back(std::move(run));
  }
  group->sources.push_back(source);
}

/// One study for each kind of task and set of varied settings, in the order of the files.
std::vector<Study> studies_of(const std::vector<Source>& sources, const std::vector<RunReport>& runs) {
  const KeyTable table(sources);  // of all files, so that those of two versions make one study
  std::vector<Group> groups;
  for (std::size_t source = 0; source < sources.size(); ++source) {
    Source rest = sources[source];
    for (TaskRuns& part : by_task(runs, source)) {
      add_part(groups, std::move(part), rest, table);
      rest.allocation = {};  // it is shown once
    }
  }
  std::vector<Study> studies;
  for (Group& group : groups) {
    studies.push_back(make_study(std::move(group.sources), std::move(group.runs), table));
    if (groups.size() > 1) studies.back().id = fmt::format("study-{}", studies.size());
  }
  return studies;
}

}  // namespace

Collection read_results(const std::vector<std::string>& paths, const std::vector<SettingKey>& keys) {
  ProvenanceFilter filter;
  return read_results(paths, keys, filter);
}

Collection read_results(const std::vector<std::string>& paths, const std::vector<SettingKey>& keys,
                        ProvenanceFilter& filter) {
  RunsOfFiles read = read_runs(paths, filter);
  for (Source& source : read.sources)
    if (source.keys.empty()) source.keys = keys;
  std::vector<Study> studies = studies_of(read.sources, read.timed);
  return {std::move(read.sources), std::move(studies), std::move(read.evaluated), std::move(read.notices)};
}

}  // namespace multicard::post
