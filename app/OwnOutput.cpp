#include "OwnOutput.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"
#include "comm/Agreement.hpp"
#include "io/FolderLock.hpp"
#include "io/OwnFiles.hpp"
#include "results/JsonLines.hpp"
#include "results/ResultsReader.hpp"
#include "results/TrialRead.hpp"
#include "run/TraceFile.hpp"
#include "share/ShareRecord.hpp"
#include "state/CheckpointStore.hpp"
#include "train/CheckpointRecords.hpp"
#include "watch/Prometheus.hpp"
#include "watch/WatchStatus.hpp"

namespace multicard {

namespace fs = std::filesystem;

namespace {

std::string in(const std::string& folder, const char* name) {
  return (fs::path(folder) / name).string();
}

/// Whether a task of a share has written into the folder.
bool is_task_folder(const std::string& folder) {
  const std::vector<std::string> checkpoints = names_in(in(folder, "checkpoints"));
  return is_results_file(in(folder, "results.h5")) || is_status_file(status_file(folder)) ||
         is_marked(in(folder, "checkpoints")) ||
         std::any_of(checkpoints.begin(), checkpoints.end(), [&](const std::string& name) {
           return content_says(in(in(folder, "checkpoints"), name.c_str()) + "/" + kStateFile, "{", "multicard");
         });
}

bool could_be_task_folder(const std::string& folder) {
  // A task that was killed before it wrote anything has left an empty folder.
  return is_folder(folder) && (names_in(folder).empty() || is_task_folder(folder));
}

void remove_results(const std::string& output) {
  if (const std::string file = end_of_links(status_file(output)); is_status_file(file)) remove_own_file(file);
  if (const std::string file = end_of_links(in(output, "results.h5")); is_results_file(file)) remove_own_file(file);
}

}  // namespace

void require_own_results(const std::string& file) {
  require_own_file(file, "the results", is_results_file);
}

void require_own_output(const RunOptions& options) {
  const std::string& output = options.run.output;
  CheckpointStore(output, 1).require_own();
  require_own_records(output);
  if (options.run.json_lines) require_own_file(in(output, "metrics.jsonl"), "the metrics of the run", is_metrics_file);
  if (options.run.prometheus)
    require_own_file(*options.run.prometheus, "the metrics of Prometheus", is_prometheus_file);
  const std::string events = in(output, "tensorboard");
  if (options.run.tensorboard && is_taken(events) && !is_folder(events)) refuse_foreign(events, "TensorBoard's folder");
}

void require_own_share(const std::string& output) {
  require_own_file(record_file(output), "the record of the share", is_share_record);
  require_own_folder(in(output, "tasks"), "the tasks of a share", could_be_task_folder);
}

void clear_output(const std::string& output) {
  CheckpointStore(output, 1).clear();
  remove_records(output);
  remove_traces(output);
  remove_results(output);
}

void clear_share(const std::string& output, const std::set<std::string>& held) {
  if (const std::string file = end_of_links(record_file(output)); is_share_record(file)) remove_own_file(file);
  const std::string tasks = in(output, "tasks");
  for (const std::string& name : names_in(tasks)) {
    const std::string folder = in(tasks, name.c_str());
    if (!is_task_folder(folder)) continue;
    std::optional<FolderLock> lock;
    // Tasks of an older deck: a run that has one of their folders keeps it, and is not waited for. The lock goes before
    // the folder, since its file would keep the folder from being empty.
    if (!held.contains(name)) lock.emplace(folder, 0);
    clear_output(folder);
    lock.reset();
    remove_own_files(folder, [](const std::string&) { return false; });
  }
  remove_results(output);
}

void require_results_of_share(const std::string& output) {
  const std::string file = in(output, "results.h5");
  if (!is_there(file)) return;
  bool is_own = false;
  const auto damage = error_of([&] {
    read_on_trial(file);
    is_own = ResultsFile::open(file, Seal::is_checked).has_allocation();
  });
  if (damage) throw DataError(damage->problem(), damage->why(), "Move it away, or set run.resume=never to replace it.");
  if (is_own) return;
  throw UsageError(fmt::format("{} holds the results of another command", file), "this share would replace them",
                   "Set another run.output, or run.resume=never to replace them.");
}

}  // namespace multicard
