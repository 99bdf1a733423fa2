#pragma once
/// \file The profile windows of a run: when they open, and what becomes of what they record.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <c10/core/Device.h>

#include "base/Clock.hpp"
#include "comm/MpiTotals.hpp"
#include "io/Hdf5Totals.hpp"
#include "profiler/KinetoSession.hpp"
#include "profiler/MemoryLog.hpp"
#include "profiler/PhaseLog.hpp"
#include "profiler/ProfileOptions.hpp"
#include "profiler/ThreadTimes.hpp"
#include "results/RankRecord.hpp"

namespace multicard {

struct RecordedTimeline {
  Trace trace;  ///< of steps alone
  Timeline timeline;
};

/// Windows of one run on one rank. Those of a run are counted from its first step, resumed or not: the first begins
/// after `skip_steps` steps and has `steps` of them. A profile never ends a run: where one cannot be taken, a line
/// says why, and the run continues without.
class ProfileWindows {
 public:
  using Totals = std::map<std::string, CommunicationTotals>;

  ProfileWindows(const ProfileOptions& options, at::Device device);
  ~ProfileWindows();
  ProfileWindows(const ProfileWindows&) = delete;
  ProfileWindows& operator=(const ProfileWindows&) = delete;

  /// To be told of the steps.
  StepObserver& observer() { return phases_; }

  /// Whether step `step` of the run lies in a window: the same on all ranks, also where one could not be opened.
  bool is_due(std::int64_t step) const;
  /// Whether it is the first of one. Without `skip_steps` windows follow each other.
  bool is_first(std::int64_t step) const;
  /// Opens the window before step `step`, between two steps. \param totals what collectives have counted so far
  void open(std::int64_t step, const Totals& totals);
  /// Closes the window that is open, if any, before step `step`. If steps of it are left, open() begins another part of
  /// it.
  void close(std::int64_t step, const Totals& totals);

  /// The time line of the window, or the part of one, that has closed last, where one was asked for and recorded; once.
  std::optional<RecordedTimeline> take_timeline() { return std::exchange(timeline_, std::nullopt); }
  /// What the windows so far have recorded, by path in the run; empty before the first has closed.
  const std::map<std::string, RankTable>& tables() const { return tables_; }

 private:
  void fail(const std::string& message);
  void take(std::int64_t num_steps, const Totals& totals);
  void keep_timeline(KinetoTrace recorded, const std::map<std::int64_t, ThreadTimes>& threads);

  ProfileOptions options_;
  at::Device device_;
  RangeLog log_;
  PhaseLog phases_;
  std::unique_ptr<KinetoSession> session_;  ///< of the open window
  std::unique_ptr<MemoryLog> memory_;       ///< the same, where it records memory
  bool has_failed_ = false;                 ///< no further window is tried
  bool has_warned_ = false;                 ///< that work of the GPU is missing
  std::int64_t first_step_ = 0;             ///< of the open window, as all below
  TimePoint opened_{};
  Totals totals_;
  TotalsByKind files_;
  MpiTotalsByFunction mpi_;
  std::map<std::int64_t, ThreadTimes> threads_;
  std::map<std::string, RankTable> tables_;
  std::optional<RecordedTimeline> timeline_;
};

/// The first step of the first window that a run of `num_steps` steps would begin at or after `first_step`; `num_steps`
/// where there is none.
std::int64_t first_profiled_step(const ProfileOptions& options, std::int64_t first_step, std::int64_t num_steps);

}  // namespace multicard
