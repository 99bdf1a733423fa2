#pragma once
/// \file The time line of all ranks in the format of Chrome's trace viewer, which Perfetto reads.
///
/// Each rank writes its part, and the parts in the order of ranks are one JSON object:
///
///     {"displayTimeUnit": "ns", "multicard_trace": {...}, "traceEvents": [EVENT, EVENT, ...]}
///
/// A rank is a process there, "rank 007 (host)", with the tracks "steps" (steps, and in them their phases), "blocks"
/// (of the model's forward pass), and for each thread its operators and calls, and its other work; its GPU is another
/// process, with a track for each stream. Collectives are connected by arrows from rank to rank of their group: one
/// leads from each rank to the next or back, from the one that entered first to the other.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "profile/timeline/Timeline.hpp"
#include "profile/trace/Trace.hpp"

namespace multicard {

/// A rank among the others.
struct TimelineRank {
  int rank = 0, num_ranks = 1;
  std::string host;
  std::function<std::int64_t(std::int64_t)> common;  ///< the time of the common clock for one of the rank's
  std::int64_t origin = 0;                           ///< of the common clock: time 0 of the time line
  std::int64_t clock_error_ns = 0;                   ///< largest over ranks
};

/// When a rank entered a collective; trivially copyable, to be sent to its neighbours in the group.
struct CollectiveEntry {
  std::uint64_t key = 0;   ///< the same for the same collective on all ranks
  std::int64_t begin = 0;  ///< on the common clock
};

struct TimelinePart {
  std::string bytes;  ///< gzip members
  std::int64_t num_events = 0;
};

/// The part of one rank, in two steps: what its neighbours must know, then the text.
class TimelineText {
 public:
  /// `trace` and `timeline` are not needed afterwards.
  TimelineText(const Trace& trace, const Timeline& timeline, TimelineRank rank);
  ~TimelineText();
  TimelineText(const TimelineText&) = delete;
  TimelineText& operator=(const TimelineText&) = delete;

  /// The collectives of this rank by the distance of neighbours in their group; of several with one key the first.
  std::map<int, std::vector<CollectiveEntry>> entries() const;
  /// \param before, after those of the ranks before and after this one in its groups; empty where there is none
  TimelinePart part(const std::vector<CollectiveEntry>& before, const std::vector<CollectiveEntry>& after) const;

 private:
  struct Content;

  TimelineRank rank_;
  std::unique_ptr<const Content> content_;
};

}  // namespace multicard
