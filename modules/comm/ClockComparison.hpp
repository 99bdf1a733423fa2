#pragma once
/// \file The clocks of all ranks as one.

#include <cstdint>
#include <functional>

#include "comm/Communicator.hpp"

namespace multicard {

/// Nanoseconds since some moment.
using ClockFunction = std::function<std::int64_t()>;

/// How another clock stood against the own one at a moment of the own one.
struct ClockReading {
  std::int64_t at = 0;          ///< own clock
  std::int64_t offset = 0;      ///< the other clock minus the own one
  std::int64_t round_trip = 0;  ///< the offset is right to half of this
};

/// Own times as times of another clock, which runs evenly against the own one: linear between two readings, and beyond
/// them.
class ClockLine {
 public:
  ClockLine() = default;  ///< of the same clock
  ClockLine(const ClockReading& first, const ClockReading& last) : first_(first), last_(last) {}

  std::int64_t other(std::int64_t own) const;
  /// Half of the larger round trip: how far other() may be off between the readings.
  std::int64_t error() const;

 private:
  ClockReading first_, last_;
};

/// Own times as times of the first rank's clock: through the clock of the first rank of the node.
class CommonClock {
 public:
  CommonClock() = default;
  CommonClock(const ClockLine& in_node, const ClockLine& between_nodes)
      : in_node_(in_node), between_nodes_(between_nodes) {}

  std::int64_t common(std::int64_t own) const { return between_nodes_.other(in_node_.other(own)); }
  std::int64_t error() const { return in_node_.error() + between_nodes_.error(); }

 private:
  ClockLine in_node_, between_nodes_;
};

/// Compares the clocks of all ranks twice, at the begin and at the end of what they are to time together.
///
/// Cristian's algorithm: a rank asks for the other's time, and takes it for that of the middle between question and
/// answer. Of many questions the one with the shortest round trip is kept, as it leaves least room for error: within a
/// node some 0.2 us, so that clocks agree to 0.1 us. Ranks ask the first of their node, one after the other, while the
/// first ranks of the nodes then ask rank 0.
class ClockComparison {
 public:
  /// Collective. The first comparison. \param clock of this rank, until finish()
  ClockComparison(const Communicator& communicator, ClockFunction clock);

  /// Collective. The second one, and what follows from both.
  CommonClock finish();

 private:
  Communicator node_, leaders_;  ///< leaders_: the first ranks of the nodes; elsewhere of no use
  ClockFunction clock_;
  ClockReading in_node_, between_nodes_;
};

}  // namespace multicard
