#include "postproc/study/Collection.hpp"

#include <algorithm>
#include <iterator>
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

/// One study for each set of varied settings, in the order of the files.
std::vector<Study> studies_of(const std::vector<Source>& sources, std::vector<RunReport> runs) {
  const KeyTable table(sources);  // of all files, so that those of two versions make one study
  struct Group {
    std::set<std::string> keys;
    std::vector<Source> sources;
    std::vector<RunReport> runs;
  };
  std::vector<Group> groups;
  for (std::size_t source = 0; source < sources.size(); ++source) {
    std::vector<RunReport> of_file;
    std::copy_if(runs.begin(), runs.end(), std::back_inserter(of_file),
                 [&](const RunReport& run) { return run.source == source; });
    if (of_file.empty()) continue;
    const std::set<std::string> keys = varied(of_file, table);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& known) { return known.keys == keys; });
    if (group == groups.end()) group = groups.insert(groups.end(), Group{keys, {}, {}});
    for (RunReport& run : of_file) {
      run.source = group->sources.size();
      group->runs.push_back(std::move(run));
    }
    group->sources.push_back(sources[source]);
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
  RunsOfFiles read = read_runs(paths);
  for (Source& source : read.sources)
    if (source.keys.empty()) source.keys = keys;
  std::vector<Study> studies = studies_of(read.sources, std::move(read.timed));
  return {std::move(read.sources), std::move(studies), std::move(read.evaluated), std::move(read.notices)};
}

}  // namespace multicard::post
