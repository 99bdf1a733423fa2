#pragma once
/// \file Where threads tell time lines of their work.

#include <cstdint>

#include "profiler/RangeLog.hpp"

namespace multicard {

/// For its lifetime this thread does the work `name`, which has static storage. It is shown by the time line of the
/// window that is open when it ends; otherwise it costs a reading of the clock.
class WorkScope {
 public:
  WorkScope(WorkKind kind, const char* name, std::int64_t bytes = -1);
  ~WorkScope();
  WorkScope(const WorkScope&) = delete;
  WorkScope& operator=(const WorkScope&) = delete;

  /// Of a collective: which of its name it is among those of a group, and how long the last rank was awaited.
  void set_sequence(const RankGroup& group, std::int64_t sequence) {
    work_.group = group;
    work_.sequence = sequence;
  }
  void set_waited(double seconds);

 private:
  WorkRange work_;
};

/// For its lifetime this thread puts a collective of a group on a stream of the GPU: what it launches belongs to it.
class LaunchScope {
 public:
  explicit LaunchScope(const RankGroup& group);
  ~LaunchScope();
  LaunchScope(const LaunchScope&) = delete;
  LaunchScope& operator=(const LaunchScope&) = delete;

 private:
  CollectiveLaunch launch_;
};

/// The same as WorkScope for work that has ended just now and took `ns`.
void report_work(WorkKind kind, const char* name, std::int64_t ns, std::int64_t bytes);

}  // namespace multicard
