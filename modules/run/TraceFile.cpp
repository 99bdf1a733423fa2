#include "run/TraceFile.hpp"

#include <chrono>
#include <cmath>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/ErrorReport.hpp"
#include "base/Log.hpp"
#include "base/System.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "comm/Packing.hpp"
#include "io/AtomicFile.hpp"
#include "io/OwnFiles.hpp"
#include "io/RankFile.hpp"
#include "profile/TimelineMark.hpp"
#include "profile/timeline/TimelineText.hpp"

namespace multicard {

namespace {

constexpr std::string_view kBegin = "trace-step", kEnd = ".json.gz";

bool is_trace_file(const std::string& path) {
  constexpr std::string_view kGzip = "\x1f\x8b";
  return content_says(path, kGzip, kTraceComment);
}

/// Removes what runs that were killed while they wrote a time line have left.
void remove_unfinished(const std::string& folder) {
  remove_orphans((std::filesystem::path(folder) / kBegin).string());
}

std::string packed(const std::vector<CollectiveEntry>& entries) {
  Packer pack;
  pack(entries);
  return pack.take();
}

void append_unpacked(const std::string& bytes, std::vector<CollectiveEntry>& entries) {
  if (bytes.empty()) return;
  std::vector<CollectiveEntry> more;
  Unpacker{bytes}(more);
  entries.insert(entries.end(), more.begin(), more.end());
}

using EntriesByDistance = std::map<int, std::vector<CollectiveEntry>>;

/// What this rank must know of its neighbours in each of its groups.
struct NeighbourEntries {
  std::vector<CollectiveEntry> before, after;
};

/// Collective. Groups in which neighbours are equally far from each other exchange at once.
NeighbourEntries exchanged(const Communicator& communicator, const EntriesByDistance& mine) {
  NeighbourEntries others;
  const auto next_distance = [&](int distance) {
    const auto next = mine.upper_bound(distance);
    return communicator.allreduce(next == mine.end() ? communicator.size() : next->first, ReduceOp::min);
  };
  for (int distance = next_distance(0); distance < communicator.size(); distance = next_distance(distance)) {
    const auto found = mine.find(distance);
    const std::string bytes = packed(found == mine.end() ? std::vector<CollectiveEntry>{} : found->second);
    append_unpacked(communicator.shift(bytes, distance), others.before);
    append_unpacked(communicator.shift(bytes, -distance), others.after);
  }
  return others;
}

/// The events of a rank; of a rank that has none, or not the memory for them, its name alone, so that the parts of all
/// ranks are one text.
class RankPart {
 public:
  RankPart(const std::optional<RecordedTimeline>& recorded, TimelineRank rank) : rank_(std::move(rank)) {
    static const RecordedTimeline kNothing;
    attempt([&] {
      const RecordedTimeline& from = recorded ? *recorded : kNothing;
      text_ = std::make_unique<TimelineText>(from.trace, from.timeline, rank_);
      entries_ = text_->entries();
    });
  }

  const EntriesByDistance& entries() const { return entries_; }

  TimelinePart write(const NeighbourEntries& others) {
    TimelinePart part;
    attempt([&] {
      if (text_) part = text_->part(others.before, others.after);
    });
    return part.bytes.empty() ? TimelineText({}, {}, rank_).part({}, {}) : std::move(part);
  }

 private:
  void attempt(const std::function<void()>& body) {
    try {
      body();
    } catch (const std::exception& error) {
      log_local_error(fmt::format("this rank is missing from the time line ({})", error.what()));
      text_.reset();
      entries_.clear();
    }
  }

  TimelineRank rank_;
  std::unique_ptr<TimelineText> text_;
  EntriesByDistance entries_;
};

}  // namespace

TraceFile::TraceFile(const Communicator& communicator, std::string folder, std::int64_t first_step)
    : communicator_(communicator),
      folder_(std::move(folder)),
      first_step_(first_step),
      opened_{wall_clock_ns(), SteadyClock::now()},
      comparison_(communicator, wall_clock_ns) {}

void TraceFile::write(const std::optional<RecordedTimeline>& recorded) {
  check_clock();
  const CommonClock clock = comparison_.finish();
  try {
    write_parts(recorded, clock);
  } catch (const Error& error) {
    if (error.scope() != Scope::all_ranks && !communicator_.is_null()) throw;
    if (communicator_.is_root())
      log_warning(
          fmt::format("the time line is not written: {} The run continues without it.", error_sentences(error)));
  }
}

/// The wall clock is Kineto's. It may be set while the window is open.
void TraceFile::check_clock() const {
  constexpr double kSuspicious = 1e-3;
  const double wall = 1e-9 * static_cast<double>(wall_clock_ns() - opened_.wall);
  const double jump = wall - seconds_since(opened_.steady);
  if (std::abs(jump) > kSuspicious)
    log_local_error(
        fmt::format("the system's clock was moved by {:.3g} s while the profile window was open: the time "
                    "line shows this rank too early or too late",
                    jump));
}

void TraceFile::write_parts(const std::optional<RecordedTimeline>& recorded, const CommonClock& clock) const {
  const std::string path = (std::filesystem::path(folder_) / fmt::format("{}{}{}", kBegin, first_step_, kEnd)).string();
  agreed(communicator_, [&] {
    if (!communicator_.is_root()) return;
    require_own_file(path, "the time line", is_trace_file);
    remove_unfinished(folder_);
  });
  TimelineRank self;
  self.rank = communicator_.rank();
  self.num_ranks = communicator_.size();
  self.host = host_name();
  self.common = [&clock](std::int64_t time) { return clock.common(time); };
  self.origin = communicator_.broadcast_value(opened_.wall);  // of rank 0, whose clock is the common one
  self.clock_error_ns = communicator_.allreduce(clock.error(), ReduceOp::max);
  RankPart part(recorded, self);
  const TimelinePart written = part.write(exchanged(communicator_, part.entries()));
  const std::int64_t bytes = write_in_rank_order(path, communicator_, written.bytes);
  const std::int64_t num_events = communicator_.allreduce(written.num_events, ReduceOp::sum);
  if (communicator_.is_root())
    log_info(fmt::format("time line of {} events: {} ({:.1f} MB; clocks of the ranks agree to {} us)", num_events, path,
                         1e-6 * static_cast<double>(bytes),
                         significant(1e-3 * static_cast<double>(self.clock_error_ns), 2)));
}

void remove_traces(const std::string& folder) {
  remove_unfinished(folder);
  for (const std::string& name : names_in(folder)) {
    const std::string path = (std::filesystem::path(folder) / name).string();
    if (name.starts_with(kBegin) && name.ends_with(kEnd) && is_trace_file(path)) remove_own_file(path);
  }
}

}  // namespace multicard
