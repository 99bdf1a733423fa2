#pragma once
/// \file One kind of work of a deck: its data, its model and what is said of them.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/Communicator.hpp"
#include "data/loading/DataSource.hpp"
#include "results/Columns.hpp"
#include "state/CheckpointParts.hpp"
#include "tasks/interface/MeasuredModel.hpp"
#include "tasks/interface/TaskScan.hpp"
#include "train/Model.hpp"

namespace multicard {

class GenerationEvaluation;

/// Whether a network still is what it was when the run first started.
enum class Weights { at_start, trained };

/// The data of a task.
struct TaskData {
  DataSource& training;
  DataSource* test;                                 ///< null where the deck names none
  const GenerationEvaluation* questions = nullptr;  ///< what the model is also evaluated on; null for nothing
};

/// What a run asks of its kind of work beyond what the trainer asks of its model.
class Task {
 public:
  virtual ~Task() = default;

  virtual TaskData data() = 0;
  virtual std::shared_ptr<Model> model() const = 0;
  /// The same model.
  virtual MeasuredModel& measured_model() const = 0;
  /// What opening the data has found.
  virtual TaskScan scan() const = 0;

  /// Collective. What is computed before the first step of a run, or of what is left of it. `weights` says whether the
  /// model is as it was when the run first started.
  virtual void prepare(Weights weights) { (void)weights; }

  /// Lines of the block that says what will run: a label and a text each.
  virtual std::vector<std::pair<std::string, std::string>> description() const = 0;
  /// A summary of an evaluation in one line.
  virtual std::string describe(const Evaluation& evaluation) const = 0;
  /// Adds the attributes that say what the task is.
  virtual void add_attributes(RunSummary& summary) const = 0;
  /// Bytes of parts of the trained and the frozen weights that reports list separately, by the names that they have
  /// below memory/model in the results file.
  virtual std::map<std::string, std::int64_t> weight_parts() const { return {}; }
  /// Floating-point operations that the model needs for the global batch of `step`, forward and backward, whatever is
  /// computed twice; 0 where they are unknown.
  virtual double flops_in(std::int64_t step) const = 0;

  /// What a checkpoint holds of the model: its trained tensors, by the names they have in files.
  virtual CheckpointPart model_part() const = 0;
  /// Files of a checkpoint other than tensors: name and content.
  virtual std::map<std::string, std::string> model_files() const = 0;
  /// Collective. Waits for what model_identity() needs.
  virtual void finish_identity() {}
  /// Texts that tell the base model from others, by name; a checkpoint is resumed only where they are equal.
  virtual std::map<std::string, std::string> model_identity() const = 0;
};

}  // namespace multicard
