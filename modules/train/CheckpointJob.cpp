#include "train/CheckpointJob.hpp"

#include <utility>

#include "comm/Communicator.hpp"
#include "io/OwnFiles.hpp"
#include "results/ResultsWriter.hpp"
#include "train/CheckpointRecords.hpp"

namespace multicard {

void CheckpointJob::add_new_records() {
  // On the thread: records of long runs are megabytes, whose copying would stop training.
  for (std::size_t rank = 0; rank < new_records.size(); ++rank)
    append(records[rank], std::move(new_records[rank]));
  new_records.clear();
  for (auto& [name, series] : new_metrics) {
    MetricSeries& whole = metrics[name];
    whole.values.insert(whole.values.end(), series.values.begin(), series.values.end());
    whole.steps.insert(whole.steps.end(), series.steps.begin(), series.steps.end());
  }
  new_metrics.clear();
}

std::string CheckpointJob::write_records() const {
  RankRows rows;
  for (std::size_t rank = 0; rank < records.size(); ++rank)
    rows.merge(continue_rows(before[rank], records[rank], static_cast<int>(rank)));
  RunSummary summary = content.summary;
  summary.metrics = metrics;
  std::string path = records_file(output, content.state.step);
  mark_folder(records_folder(output));
  // By this process alone: the thread must not call MPI for all ranks while training does.
  write_results(path, Communicator::null(), Provenance{}, summary, rows);
  return path;
}

void CheckpointJob::write_pieces() {
  written = CheckpointStore::write_pieces(folder, copies.wait(), pending != nullptr);
}

void CheckpointJob::complete() {
  add_new_records();
  const std::shared_ptr<PendingCheckpoint> with_pieces = std::exchange(pending, nullptr);
  const auto records_of_it = [&] { return write_records(); };
  try {
    if (with_pieces)
      store.complete(*with_pieces, content.state, copies.wait(), written, content.best, records_of_it);
    else
      store.write(content.state, copies.wait(), content.best, records_of_it);
  } catch (...) {
    remove_stale_records(output);  // they would fill a full disk further
    throw;
  }
  remove_stale_records(output);
  seconds = seconds_since(start);
}

}  // namespace multicard
