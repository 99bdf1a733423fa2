#pragma once
/// \file What a session asks of its kind of work beyond what the trainer asks.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/Communicator.hpp"
#include "config/RunOptions.hpp"
#include "kernels/StatisticsReducer.hpp"
#include "results/Columns.hpp"
#include "state/CheckpointParts.hpp"
#include "state/CheckpointStore.hpp"
#include "state/NamedTensor.hpp"
#include "tasks/MemoryNeed.hpp"
#include "train/Task.hpp"

namespace multicard {

class Interview;

/// What rates count: "images", abbreviated "img", or "tokens", abbreviated "tok".
struct WorkUnit {
  const char* name;
  const char* abbreviation;
};

/// A task that can be run from a deck, saved and continued.
class SessionTask : public Task {
 public:
  /// Lines of the block that says what will run: a label and a text each.
  virtual std::vector<std::pair<std::string, std::string>> description() const = 0;
  virtual bool has_test_set() const = 0;
  /// The line that tells an evaluation.
  virtual std::string describe(const Evaluation& evaluation) const = 0;

  /// What the model is asked beside its test set; null for nothing.
  virtual const Interview* interview() const { return nullptr; }

  virtual WorkUnit unit() const = 0;
  /// Units in the global batch of `step`, over all ranks.
  virtual std::int64_t work_in(std::int64_t step) const = 0;
  /// Floating-point operations that the model needs for that batch, forward and backward, whatever is computed twice;
  /// 0 where nobody counts them.
  virtual double flops_in(std::int64_t step) const = 0;

  /// What a checkpoint holds of the model: its trained tensors, by the names they have in files.
  virtual CheckpointPart model_part() const = 0;
  /// Files of a checkpoint beside its tensors: name and content.
  virtual std::map<std::string, std::string> model_files() const = 0;
  /// Texts that tell the base model from others, and numbers that tell the training data from others, by name; a
  /// checkpoint is continued only where they are equal.
  /// @{
  virtual std::map<std::string, std::string> model_identity() const = 0;
  virtual std::map<std::string, double> data_identity() const = 0;
  /// @}

  /// Adds the frozen weights and what batches take, on the host and on the device, of a rank that reads `rows_read`
  /// rows a step and computes on `rows` of them.
  virtual void add_memory(MemoryNeed& need, std::int64_t rows, std::int64_t rows_read) = 0;
  /// The most bytes that forward and backward over `rows` rows at a time hold beyond what was there before, from
  /// measurements on the device with few. `backward` starts from a loss; what it adds to gradients is not wanted.
  virtual std::int64_t work_bytes(std::int64_t rows, const std::function<void(const at::Tensor& loss)>& backward) = 0;
  /// Adds the attributes that say what the task is.
  virtual void add_attributes(RunSummary& summary) const = 0;
};

/// Collective: opens the data that the deck names and builds the model on `device`. `statistics` (may be null)
/// synchronises batch norm and must outlive the task.
std::unique_ptr<SessionTask> make_session_task(const RunOptions& options, const Communicator& communicator,
                                               at::Device device, StatisticsReducer* statistics);

}  // namespace multicard
