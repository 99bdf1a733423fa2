#include "comm/ClockComparison.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/Clock.hpp"
#include "comm/CommunicatorImpl.hpp"
#include "comm/Native.hpp"
#include "comm/Watchdog.hpp"

namespace multicard {

namespace {

/// Where ranks share cores an exchange may take as long as another thread has the core.
constexpr int kLeastRounds = 20, kMostRounds = 200;
constexpr double kLongEnoughS = 0.2;
constexpr int kQuestion = 1, kAnswer = 2;  ///< tags

void answer(const Communicator& communicator, int rank, const ClockFunction& clock) {
  for (std::int64_t is_last = 0; !is_last;) {
    call_mpi(MpiFunction::recv, sizeof is_last, [&] {
      return MPI_Recv(&is_last, 1, MPI_INT64_T, rank, kQuestion, native(communicator), MPI_STATUS_IGNORE);
    });
    const std::int64_t time = clock();
    call_mpi(MpiFunction::send, sizeof time,
             [&] { return MPI_Send(&time, 1, MPI_INT64_T, rank, kAnswer, native(communicator)); });
  }
}

ClockReading ask(const Communicator& communicator, const ClockFunction& clock) {
  ClockReading best{0, 0, std::numeric_limits<std::int64_t>::max()};
  TimePoint start{};
  std::int64_t is_last = 0;
  for (int round = 0; !is_last; ++round) {
    // The first question waits until the other rank comes here.
    if (round == 1) start = SteadyClock::now();
    is_last = round == kMostRounds || (round >= kLeastRounds && seconds_since(start) > kLongEnoughS) ? 1 : 0;
    std::int64_t time = 0;
    const std::int64_t before = clock();
    call_mpi(MpiFunction::send, sizeof is_last,
             [&] { return MPI_Send(&is_last, 1, MPI_INT64_T, 0, kQuestion, native(communicator)); });
    call_mpi(MpiFunction::recv, sizeof time,
             [&] { return MPI_Recv(&time, 1, MPI_INT64_T, 0, kAnswer, native(communicator), MPI_STATUS_IGNORE); });
    const std::int64_t round_trip = clock() - before;
    if (round == 0 || round_trip >= best.round_trip) continue;
    const std::int64_t middle = before + round_trip / 2;
    best = {middle, time - middle, round_trip};
  }
  return best;
}

/// Collective. How the clock of the first rank stands against the own one.
ClockReading compare(const Communicator& communicator, const ClockFunction& clock) {
  if (communicator.size() == 1) return {clock(), 0, 0};
  const Watchdog::Guard guard(communicator.watchdog(), "comparing clocks");
  if (!communicator.is_root()) return ask(communicator, clock);
  for (int rank = 1; rank < communicator.size(); ++rank)
    answer(communicator, rank, clock);
  return {clock(), 0, 0};
}

}  // namespace

std::int64_t ClockLine::other(std::int64_t own) const {
  const std::int64_t length = last_.at - first_.at;
  const double drift = length > 0 ? static_cast<double>(last_.offset - first_.offset) / static_cast<double>(length) : 0;
  return own + first_.offset + std::llround(drift * static_cast<double>(own - first_.at));
}

std::int64_t ClockLine::error() const {
  return (std::max(first_.round_trip, last_.round_trip) + 1) / 2;
}

ClockComparison::ClockComparison(const Communicator& communicator, ClockFunction clock)
    : node_(communicator.split_by_node()),
      leaders_(communicator.split(node_.is_root() ? 0 : 1, communicator.rank(), Watched::together)),
      clock_(std::move(clock)) {
  in_node_ = compare(node_, clock_);
  if (node_.is_root()) between_nodes_ = compare(leaders_, clock_);
}

CommonClock ClockComparison::finish() {
  const ClockLine in_node(in_node_, compare(node_, clock_));
  ClockReading last;
  if (node_.is_root()) last = compare(leaders_, clock_);
  std::array<std::int64_t, 6> readings{between_nodes_.at, between_nodes_.offset, between_nodes_.round_trip,
                                       last.at,           last.offset,           last.round_trip};
  node_.broadcast(std::span<std::int64_t>(readings));
  return {in_node, ClockLine({readings[0], readings[1], readings[2]}, {readings[3], readings[4], readings[5]})};
}

}  // namespace multicard
