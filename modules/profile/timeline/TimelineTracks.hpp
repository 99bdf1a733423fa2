#pragma once
/// \file The events of a time line by track; for modules/profile only.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profile/timeline/Timeline.hpp"
#include "profile/trace/Trace.hpp"

namespace multicard {

/// Names as JSON, numbered: those of a trace have its numbers, others follow.
class EscapedNames {
 public:
  explicit EscapedNames(const NameTable& names);

  std::int32_t id(const std::string& name);
  /// With its quotes.
  const std::string& json(std::int32_t id) const { return json_[static_cast<std::size_t>(id)]; }

 private:
  std::vector<std::string> json_;
  std::unordered_map<std::string, std::int32_t> ids_;  ///< of others
};

/// A box on a track.
struct TrackEvent : Span {
  std::int32_t name = 0;         ///< in EscapedNames
  std::int32_t lane = 0;         ///< of its track: boxes of one lane lie apart or within each other
  const char* category = "";     ///< of static storage
  std::int64_t bytes = -1;       ///< -1: none, as below
  std::int64_t step = -1;        ///< number of a step
  std::int64_t waited_ns = -1;   ///< of a collective
  std::uint64_t collective = 0;  ///< key of a collective; 0: it is none, or is not known to be the same on other ranks
  /// Of a collective; in the time line. Null: all ranks, or none.
  const RankGroup* group = nullptr;
};

struct Track {
  std::string name;
  bool is_gpu = false;             ///< of the process that stands for the GPU
  std::vector<TrackEvent> events;  ///< by begin, enclosing ones first
  std::int32_t num_lanes = 1;
};

/// Sequence numbers are the low bits of the key of a collective.
inline constexpr int kSequenceBits = 40;

/// The key of a collective; never 0.
std::uint64_t collective_key(std::string_view name, const RankGroup& group, std::int64_t sequence);

/// Tracks that have events, in the order in which they are to be shown. `timeline` must outlive them.
std::vector<Track> tracks_of(const Trace& trace, const Timeline& timeline, EscapedNames& names);

}  // namespace multicard
