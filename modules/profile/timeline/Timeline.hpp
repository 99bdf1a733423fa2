#pragma once
/// \file What a window of this program shows on a time line besides the events of its trace.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/RankGroup.hpp"
#include "profile/Spans.hpp"

namespace multicard {

/// What work of a thread is for.
enum class WorkKind : std::uint8_t { collective, input, checkpoint };

/// Work of a thread of the host that no operator is: a collective, the reading of a batch, a checkpoint.
struct WorkRange : Span {
  WorkKind kind = WorkKind::collective;
  const char* name = "";        ///< of static storage
  std::int64_t thread = 0;      ///< as the system numbers it
  std::int64_t bytes = -1;      ///< -1: not known, as below
  std::int64_t sequence = -1;   ///< of collectives: equal on all ranks of `group` for the same one of its name
  std::int64_t waited_ns = -1;  ///< of collectives: until the last rank had entered
  RankGroup group = {};         ///< of collectives
};

/// While a thread put a collective on a stream of the GPU.
struct CollectiveLaunch : Span {
  std::int64_t thread = 0;  ///< as the system numbers it
  RankGroup group;
};

/// Something that took no time: a decision.
struct InstantEvent {
  std::int64_t at = 0;
  std::string name, detail;
};

/// The value of a counter from a moment on.
struct CounterValue {
  std::int64_t at = 0;
  const char *name = "", *unit = "";  ///< of static storage; viewers show "host tensors bytes"
  double value = 0;
};

/// Times are nanoseconds of the same clock as the trace's.
struct Timeline {
  std::vector<Span> steps;  ///< in the order of time, the first is step `first_step`
  std::int64_t first_step = 0;
  std::vector<WorkRange> work;
  std::vector<CollectiveLaunch> launches;  ///< in the order of time
  std::vector<InstantEvent> moments;
  std::vector<CounterValue> counters;
  std::map<std::int64_t, std::int32_t> threads;      ///< numbers in the trace by those of the system
  std::map<std::int64_t, std::string> thread_names;  ///< by the system's number
};

}  // namespace multicard
