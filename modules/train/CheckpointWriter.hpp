#pragma once
/// \file Writing checkpoints while training continues.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/Communicator.hpp"
#include "state/CheckpointParts.hpp"
#include "state/CheckpointStore.hpp"
#include "train/BackgroundJob.hpp"
#include "train/CheckpointJob.hpp"
#include "train/History.hpp"
#include "train/RecordGather.hpp"

namespace multicard {

/// A checkpoint that has been written.
struct WrittenCheckpoint {
  std::int64_t step = 0;
  double seconds = 0;  ///< in the background
};

/// Writes the checkpoints of one run, and with each the records of all steps so far (OUTPUT/records/). Rank 0 copies
/// the tensors into host buffers, and each rank the pieces that it holds of those that are split; threads write them
/// while training continues, one checkpoint at a time. Where there are pieces, all ranks come together once more before
/// the checkpoint is complete:
///
///     writer.copy(parts);
///     writer.write(...);
///     ...                                   // steps; in the status of each a rank that is_writing() says so
///     if (no rank was) writer.complete();
///
/// The next checkpoint and finish() do it too, and wait for the ranks that are still writing.
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
  /// Allocates the buffers, so that the first checkpoint takes no longer than others.
  void prepare(const CheckpointParts& parts);

  /// Collective. Whether a checkpoint with this score (eval_accuracy, or whatever is better the higher it is) would be
  /// the best of those that are written and the one under way. What could not be written is not among them.
  bool would_be_best(double score);

  /// Collective. First half of a checkpoint: waits for the one before and copies what this rank writes. On a GPU the
  /// copies are only queued, after the updates that they must contain. \param at_once those that may change before
  /// let_change()
  void copy(const CheckpointParts& parts, const std::vector<at::Tensor>& at_once = {});
  /// To be called before an update, or whatever else changes the tensors (see HostSnapshot).
  void let_change();
  /// Of host memory, for the copies of this rank, when there are any.
  std::int64_t num_bytes() const { return content_->copies.num_bytes(); }
  /// Collective. Second half: brings the records to rank 0 and starts to write.
  /// \param record of this rank, since it began here; equally many steps on all ranks
  /// \param metrics of rank 0
  /// \throws on all ranks NumericalError, when the checkpoint before was found to be not finite and not written, and
  /// what copy() has failed with on a rank (too little memory).
  void write(CheckpointContent content, const RankRecord& record, const std::map<std::string, MetricSeries>& metrics);

  /// Whether ranks have written pieces since write() that complete() has not been called for: the same on all ranks.
  bool writes_pieces() const { return phase_ == Phase::pieces; }
  /// Whether this rank writes pieces now.
  bool is_writing() const { return phase_ == Phase::pieces && job_.running(); }
  /// Collective. Where ranks have written pieces since write(), waits for them, and rank 0 starts to complete the
  /// checkpoint.
  void complete();

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
  enum class Phase { none, pieces, whole };

  /// What this rank writes of them.
  CheckpointParts written_here(const CheckpointParts& parts) const;
  /// Keeps what the next checkpoint's records have in addition. On rank 0.
  void take(std::vector<RankRecord> pieces, const std::map<std::string, MetricSeries>& metrics);
  /// Collective. Makes the files, then starts threads that write pieces into them, on all ranks.
  void start_pieces();
  /// Collective. complete(), without a warning.
  void collect_pieces();
  /// Starts to write, or complete, the whole. On rank 0.
  void start_whole();
  /// Waits for this rank's thread that writes or completes a whole checkpoint, if there is one, and notes how it ended.
  void collect();
  void collect_and_warn();
  /// Of a checkpoint that could not be written, when the next may succeed.
  void warn() const;
  /// Failures that are permanent.
  std::optional<Error> lasting_error() const;

  Communicator communicator_;
  std::shared_ptr<CheckpointJob> content_;
  RecordGather gather_;
  std::map<std::string, std::size_t> num_metrics_sent_;
  std::optional<CheckpointOrigin> origin_;
  std::optional<BestCheckpoint> best_;  ///< of those that have been written
  std::optional<Error> error_;          ///< of the newest checkpoint
  std::optional<Error> copy_error_;     ///< of the last copy()
  std::optional<Error> start_error_;    ///< of this rank's thread for pieces
  std::vector<WrittenCheckpoint> written_;
  Phase phase_ = Phase::none;  ///< of the checkpoint under way: `pieces` on all ranks, `whole` on rank 0
  BackgroundJob job_;          ///< last, so that it ends first
};

}  // namespace multicard
