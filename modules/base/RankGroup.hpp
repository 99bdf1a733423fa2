#pragma once
/// \file Ranks of a run that exchange with each other alone.

#include <tuple>

namespace multicard {

/// The ranks `first`, `first + distance`, …, `count` of them; those of a run where `count` is 0.
struct RankGroup {
  int first = 0, distance = 1, count = 0;

  bool is_all() const { return count == 0; }
  bool operator<(const RankGroup& other) const {
    return std::tie(first, distance, count) < std::tie(other.first, other.distance, other.count);
  }
};

}  // namespace multicard
