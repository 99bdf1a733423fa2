#pragma once
/// \file Random numbers that are the same with every standard library.

#include <cmath>
#include <cstdint>
#include <numbers>

#include "base/SplitMix64.hpp"

namespace multicard {

/// A sequence of splitmix64().
class Random {
 public:
  explicit Random(std::uint64_t seed) : seed_(seed) {}

  std::uint64_t next() { return splitmix64(seed_, counter_++); }
  /// In [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  /// In [0, size).
  std::size_t below(std::size_t size) { return static_cast<std::size_t>(uniform() * static_cast<double>(size)); }
  /// Of mean 0 and variance 1 (Box-Muller).
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  std::uint64_t seed_, counter_ = 0;
};

}  // namespace multicard
