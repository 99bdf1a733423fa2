#pragma once
/// \file What the threads that write a checkpoint work on.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/Clock.hpp"
#include "results/RankRecord.hpp"
#include "state/CheckpointStore.hpp"
#include "train/History.hpp"
#include "train/HostSnapshot.hpp"

namespace multicard {

/// A checkpoint besides its tensors.
struct CheckpointContent {
  TrainerState state;
  RunSummary summary;          ///< of its records file, without metrics
  std::optional<double> best;  ///< its score, when would_be_best() says so
};

/// Everything that a checkpoint is written from, on one rank. It outlives the CheckpointWriter when the disk does not
/// answer. One thread at a time uses it.
struct CheckpointJob {
  CheckpointJob(const std::string& output_folder, int keep) : output(output_folder), store(output_folder, keep) {}

  /// Each rank: its pieces, into `folder`.
  void write_pieces();
  /// Rank 0: all that is not written yet, whether or not ranks have written pieces before.
  void complete();
  /// Moves `new_records` and `new_metrics` to the others.
  void add_new_records();

  std::string output;
  CheckpointStore store;
  HostSnapshot copies;
  TimePoint start;        ///< of the newest checkpoint
  bool is_split = false;  ///< ranks write pieces of it
  std::string folder;     ///< its temporary one, where ranks write pieces
  WrittenFiles written;   ///< this rank's pieces; then, on rank 0, those of all ranks

  /// \name On rank 0
  /// @{
  CheckpointContent content;
  std::shared_ptr<PendingCheckpoint> pending;
  std::vector<History> before;                  ///< of each rank
  std::vector<RankRecord> records;              ///< of each rank, since it began here
  std::map<std::string, MetricSeries> metrics;  ///< of the whole run
  std::vector<RankRecord> new_records;          ///< to be added to `records`
  std::map<std::string, MetricSeries> new_metrics;
  double seconds = 0;  ///< that the newest checkpoint took
                       /// @}

 private:
  /// Returns where they are.
  std::string write_records() const;
};

}  // namespace multicard
