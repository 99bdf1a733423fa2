#pragma once
/// \file What a run says in its status file.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/Clock.hpp"
#include "base/Error.hpp"
#include "memory/MemoryEstimate.hpp"
#include "run/RunRecorder.hpp"
#include "tasks/setup/TrainingSetup.hpp"
#include "train/Progress.hpp"
#include "watch/StatusHistory.hpp"
#include "watch/StatusWriter.hpp"

namespace multicard {

/// Takes what the root of a run knows at the end of a step, once a second at most, to a StatusWriter. In a step it
/// costs a look at the clock and a few additions; nothing is sent but the numbers of the heartbeat
/// (comm/BeatNumbers.hpp), by which rank 0 of a job knows the step times of other ranks. Where there is no writer it
/// does nothing.
class StatusReport {
 public:
  /// \param name of one run of many; `setup` must outlive it
  StatusReport(const TrainingSetup& setup, std::string name);

  /// Before the first step here; `recorder` must outlive this. \param writer on the root; null: no status
  void begin(const RunRecorder& recorder, std::shared_ptr<StatusWriter> writer, const MemoryEstimate& predicted);
  /// After a step. \returns why a file has been given up
  std::optional<std::string> step(const ProgressState& state);
  void problem(const std::string& text);
  /// The run has ended here, at `num_completed` steps.
  void end(RunStatus status, const std::optional<Error>& failure);

  /// The run has this state while one exists, then it trains again.
  class During {
   public:
    During(StatusReport& report, WatchState state) : report_(report) { report_.enter(state); }
    ~During() { report_.enter(WatchState::training); }
    During(const During&) = delete;
    During& operator=(const During&) = delete;

   private:
    StatusReport& report_;
  };
  During during(WatchState state) { return During(*this, state); }

 private:
  void enter(WatchState state);
  void add_to_history(double loss);
  void send_numbers() const;
  /// Of all ranks that are known: this one, and on rank 0 of the job those that it hears.
  std::vector<WatchedRank> ranks() const;
  void note_slowness(const std::vector<WatchedRank>& ranks);
  void add_metrics(WatchedRun& run);
  void post(const ProgressState& state);
  std::optional<std::string> try_post(const ProgressState& state);

  const TrainingSetup& setup_;
  std::string name_;
  const RunRecorder* recorder_ = nullptr;  ///< from begin() on
  std::shared_ptr<StatusWriter> writer_;
  StatusHistory history_;
  std::size_t num_in_history_ = 0;  ///< recorded steps
  WatchedRun fixed_;                ///< what does not change
  double worked_units_ = 0;
  std::map<std::int64_t, std::deque<double>> slowness_;  ///< by rank: own time over that of the others, newest last
  ProgressState last_;
  WatchState state_ = WatchState::training;
  TimePoint posted_{}, judged_{};
  double checkpoint_time_ = kNone;
  std::int64_t checkpoint_step_ = -1;
};

}  // namespace multicard
