#pragma once
/// \file Writing checkpoints while training continues.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/Communicator.hpp"
#include "state/CheckpointStore.hpp"
#include "train/BackgroundJob.hpp"
#include "train/History.hpp"
#include "train/HostSnapshot.hpp"
#include "train/RecordGather.hpp"

namespace multicard {

/// A checkpoint besides its tensors.
struct CheckpointContent {
  TrainerState state;
  RunSummary summary;          ///< of its records file, without metrics
  std::optional<double> best;  ///< its score, when would_be_best() says so
};

/// A checkpoint that has been written.
struct WrittenCheckpoint {
  std::int64_t step = 0;
  double seconds = 0;  ///< in the background
};

/// OUTPUT/records
std::string records_folder(const std::string& output);
/// Removes the records of all checkpoints. Whatever else is in their folder stays.
void remove_records(const std::string& output);
/// \throws UsageError when the folder of the records, or a file that has the name of one, is not the program's
/// (io/OwnFiles.hpp)
void require_own_records(const std::string& output);
/// The records file that belongs to the checkpoint after `step` updates.
std::string records_file(const std::string& output, std::int64_t step);

/// Writes the checkpoints of one run, and with each the records of all steps so far (OUTPUT/records/). Rank 0 copies
/// the tensors into host buffers; a thread of its own writes them while training continues, one checkpoint at a time.
///
/// A checkpoint that cannot be written (a full disk) is a warning; training continues, older checkpoints stay, and the
/// next is tried as usual. Only when it is the last one, finish() makes it an error.
class CheckpointWriter {
 public:
  CheckpointWriter(const std::string& output, int keep, Communicator communicator);

  const CheckpointStore& store() const { return content_->store; }

  /// Restores where a run that is resumed began, the steps before, and the best of the checkpoints that stand. For all
  /// ranks; rank 0's values count.
  void resume(const std::optional<CheckpointOrigin>& origin, const std::optional<BestCheckpoint>& best,
              const std::optional<History>& before);
  /// The score of the best checkpoint that stands. On rank 0.
  std::optional<BestCheckpoint> best() const { return best_; }
  const std::optional<CheckpointOrigin>& origin() const { return origin_; }
  /// Allocates rank 0's buffers, so that the first checkpoint takes no longer than others.
  void prepare(const CheckpointParts& parts);

  /// Collective. Whether a checkpoint with this score (eval_accuracy, or whatever is better the higher it is) would be
  /// the best of those that are written and the one under way. What could not be written is not among them.
  bool would_be_best(double score);

  /// First half of a checkpoint: rank 0 waits for the one before and copies the tensors. On a GPU the copies are only
  /// queued, after the updates that they must contain. \param at_once those that may change before let_change()
  void copy(const CheckpointParts& parts, const std::vector<at::Tensor>& at_once = {});
  /// To be called before an update, or whatever else changes the tensors (see HostSnapshot).
  void let_change();
  /// Of host memory, for the copies: on rank 0, when there are any.
  std::int64_t num_bytes() const { return content_->copies.num_bytes(); }
  /// Collective. Second half: brings the records to rank 0 and starts to write.
  /// \param record of this rank, since it began here; equally many steps on all ranks
  /// \param metrics of rank 0
  /// \throws on all ranks NumericalError, when the checkpoint before was found to be not finite and not written, and
  /// what copy() has failed with on rank 0 (too little memory).
  void write(CheckpointContent content, const RankRecord& record, const std::map<std::string, MetricSeries>& metrics);

  /// Looks whether a checkpoint is done, and warns if it could not be written. Cheap.
  void poll();
  /// The checkpoints written since the last call; empty on other ranks than 0.
  std::vector<WrittenCheckpoint> take_written();

  /// Collective. Waits until the last checkpoint is written; throws on all ranks what went wrong with it.
  void finish();
  /// Collective. Waits until the last checkpoint is written; what goes wrong is a warning where it may pass (a full
  /// disk), else it is thrown on all ranks.
  void wait();
  /// Whether the newest checkpoint could not be written. On rank 0.
  bool has_failed() const { return error_.has_value(); }
  /// Collective. Waits for the last checkpoint of a run that ends with an error of its own; what goes wrong is a
  /// warning.
  void settle();

 private:
  /// What the background works on. It outlives the writer when the disk does not answer.
  struct Job {
    Job(const std::string& output_folder, int keep) : output(output_folder), store(output_folder, keep) {}

    void run();
    void add_new_records();
    /// Returns where they are.
    std::string write_records() const;
    void remove_stale_records() const;

    std::string output;
    CheckpointStore store;
    HostSnapshot copies;
    CheckpointContent content;
    std::vector<History> before;                  ///< of each rank
    std::vector<RankRecord> records;              ///< of each rank, since it began here
    std::map<std::string, MetricSeries> metrics;  ///< of the whole run
    std::vector<RankRecord> new_records;          ///< to be added to `records`
    std::map<std::string, MetricSeries> new_metrics;
    double seconds = 0;  ///< the last run took
  };

  /// Waits for the checkpoint under way, if there is one, and notes how it ended.
  void collect();
  void collect_and_warn();
  /// Of a checkpoint that could not be written, when the next may succeed.
  void warn() const;
  /// Failures that are permanent.
  std::optional<Error> lasting_error() const;

  Communicator communicator_;
  std::shared_ptr<Job> content_;
  RecordGather gather_;
  std::map<std::string, std::size_t> num_metrics_sent_;
  std::optional<CheckpointOrigin> origin_;
  std::optional<BestCheckpoint> best_;  ///< of those that have been written
  std::optional<Error> error_;          ///< of the newest checkpoint
  std::optional<Error> copy_error_;     ///< of the last copy()
  std::vector<WrittenCheckpoint> written_;
  bool under_way_ = false;
  BackgroundJob job_;  ///< last, so that it ends first
};

}  // namespace multicard
