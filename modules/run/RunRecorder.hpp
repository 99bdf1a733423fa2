#pragma once
/// \file The record of one run on one rank: steps, metrics, epochs, totals and the summary.

#include <map>
#include <optional>
#include <string>

#include "base/Clock.hpp"
#include "memory/MemoryEstimate.hpp"
#include "profiler/ResourceSampler.hpp"
#include "results/ResultsReader.hpp"
#include "tasks/setup/TrainingSetup.hpp"
#include "train/History.hpp"
#include "train/Recorder.hpp"

namespace multicard {

/// How a run stands.
enum class RunStatus { running, complete, stopped, failed };

/// Fills the record while a run trains, and makes the summary of results and checkpoints. It follows the steps to count
/// what they copy within the device, apart from what evaluations and checkpoints do.
class RunRecorder : public StepObserver {
 public:
  /// \param deck resolved YAML \param clock "host" or "device"; `setup` must outlive it
  RunRecorder(const TrainingSetup& setup, std::string deck, const std::string& clock)
      : setup_(setup), deck_(std::move(deck)), steps_(clock) {}

  const Recorder& steps() const { return steps_; }
  Recorder& steps() { return steps_; }
  const std::string& deck() const { return deck_; }
  std::int64_t first_step() const { return first_step_; }
  const History& history() const { return history_; }

  /// Continues the record of the steps before `first_step`, if it is known.
  void resume(std::int64_t first_step, const std::optional<History>& before);

  /// \name Where the time of an epoch goes. What is added to a column other than train is not training time.
  /// @{
  void start_epoch();
  void add_train_seconds(std::int64_t epoch);
  void add_seconds(const std::string& column, std::int64_t epoch, double seconds);
  /// @}

  /// From now on what the process uses of its machine is sampled.
  void start_sampling();
  /// Brings what is counted since the start (memory, communication, transfers), the samples and, of text, the rates of
  /// the steps recorded since the last call up to date.
  void take_totals(const MemoryEstimate& predicted, std::int64_t checkpoint_copies);
  /// What profile windows have recorded so far, and the time that opening or closing one took: no training time.
  void take_profile(const std::map<std::string, RankTable>& tables, double seconds);
  /// Cuts what the last step left half recorded. To be followed by take_totals().
  void complete_steps();

  /// \name StepObserver
  /// @{
  void enter(Phase phase) override;
  void end_step() override;
  void pause() override;
  /// @}

  /// The newest of what this rank has recorded here, as a run of one rank: times of at most `most_steps` steps after
  /// the warm-up, a minute of samples, totals so far. Nothing waits for the device. For what watches a run.
  RunData newest(std::size_t most_steps) const;
  /// Without metrics.
  RunSummary summary(RunStatus status) const;
  /// The whole run's rows that this rank holds, from its first step on.
  RankRows rows();

 private:
  void add_rates();
  void count_copies();

  const TrainingSetup& setup_;
  std::string deck_;
  Recorder steps_;
  History history_;
  std::int64_t first_step_ = 0;
  std::size_t num_rated_ = 0;                         ///< recorded steps whose rates are among the metrics
  TimePoint epoch_start_{};                           ///< or since add_train_seconds()
  double stalled_s_ = 0;                              ///< evaluation and checkpoints since the epoch began
  std::int64_t copied_ = 0;                           ///< within the device by steps
  std::optional<std::int64_t> copies_at_;             ///< what the process had copied when the step began or went on
  mutable std::optional<ResourceSampler> resources_;  ///< which locks itself
};

}  // namespace multicard
