#pragma once
/// \file In which order tasks change their ranks.

#include <cstddef>
#include <vector>

#include "scheduling/policy/Layout.hpp"

namespace multicard {

/// A task goes to `to`. None: it gives up its ranks and waits in memory.
struct RankMove {
  std::size_t task = 0;
  RankSet to;

  bool operator==(const RankMove&) const = default;
};

/// The moves from `before` to `after`, one after the other, each to ranks that are free by then. Where tasks wait for
/// each other's ranks, one of them gives up its own first, and moves twice. The order stays possible when a task ends
/// instead of moving: it leaves its ranks as well. \pre `after` overlaps nowhere
std::vector<RankMove> moves_in_turn(std::vector<RankSet> before, const std::vector<RankSet>& after);

}  // namespace multicard
