#pragma once
/// \file What a person sees of a run while it trains.

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/Clock.hpp"
#include "generation/Questions.hpp"
#include "memory/MemoryEstimate.hpp"
#include "results/MetricSink.hpp"
#include "run/StatusReport.hpp"
#include "tasks/setup/TrainingSetup.hpp"
#include "train/Progress.hpp"
#include "train/Recorder.hpp"
#include "train/Trainer.hpp"

namespace multicard {

/// What a run has chosen where its deck leaves it open, in words; empty where the deck says it.
struct ChoiceTexts {
  std::string shard, micro_batch;
};

/// The lines of rank 0 on the terminal, and the files that others watch (docs/watching.md).
class RunReporter {
 public:
  /// `setup` must outlive it.
  RunReporter(const TrainingSetup& setup, Verbosity verbosity, const RunLabel& label);

  /// Collective over the node. The block that says what will run.
  void describe(const MemoryEstimate& estimate, const ChoiceTexts& choices) const;
  /// Opens the files that the deck asks for; metrics go to them too, from the first step here on.
  void open_feed(RunRecorder& recorder);
  /// What the status file says.
  StatusReport& status() { return status_; }

  /// After a step whose loss is known. `steps` are the recorded ones, of which the newest count.
  void step(const std::vector<StepTimes>& steps, std::int64_t num_completed, const StepResult& last);
  void evaluation(const Evaluation& found, std::int64_t num_completed, double seconds);
  /// `why` the run ends before its last step.
  void early_stop(const std::string& why, std::int64_t num_completed);
  /// What the first steps have chosen (ExchangeTrials::reasons).
  void exchange(const std::map<std::string, std::string>& reasons);
  /// A warning that belongs to the step; a run of many is named.
  void divergence(const std::string& warning);
  void questions(const QuestionScore& score, double seconds);
  /// Ends the live line and flushes the files, so that other text can follow.
  void pause();
  /// Whether single events of the run are not worth a line.
  bool is_quiet() const { return progress_.verbosity() != Verbosity::normal; }

 private:
  const TrainingSetup& setup_;
  Progress progress_;
  std::unique_ptr<MetricFeed> feed_;  ///< on rank 0
  std::int64_t memory_bytes_ = 0;     ///< as of memory_read_: reading it takes longer than showing it
  TimePoint memory_read_{};
  StatusReport status_;
};

/// The epoch of the last of `num_completed` steps.
std::int64_t epoch_of_last(std::int64_t num_completed, std::int64_t steps_per_epoch);

}  // namespace multicard
