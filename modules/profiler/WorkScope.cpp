#include "profiler/WorkScope.hpp"

#include <cmath>

#include <unistd.h>

namespace multicard {

namespace {

constexpr double kNsPerSecond = 1e9;

/// A range of this thread that ends now.
template <class Range>
void report_ended(Range& range) {
  if (!RangeLog::takes_reports()) return;
  range.end = wall_clock_ns();
  range.thread = gettid();
  RangeLog::report(range);
}

}  // namespace

WorkScope::WorkScope(WorkKind kind, const char* name, std::int64_t bytes) {
  work_.kind = kind;
  work_.name = name;
  work_.bytes = bytes;
  work_.begin = wall_clock_ns();
}

WorkScope::~WorkScope() {
  report_ended(work_);
}

void WorkScope::set_waited(double seconds) {
  // NaN: it could not be measured.
  if (seconds >= 0) work_.waited_ns = std::llround(kNsPerSecond * seconds);
}

LaunchScope::LaunchScope(const RankGroup& group) {
  launch_.group = group;
  launch_.begin = wall_clock_ns();
}

LaunchScope::~LaunchScope() {
  report_ended(launch_);
}

void report_work(WorkKind kind, const char* name, std::int64_t ns, std::int64_t bytes) {
  if (!RangeLog::takes_reports()) return;
  WorkRange work;
  work.end = wall_clock_ns();
  work.begin = work.end - ns;
  work.kind = kind;
  work.name = name;
  work.thread = gettid();
  work.bytes = bytes;
  RangeLog::report(work);
}

}  // namespace multicard
