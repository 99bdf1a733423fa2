#pragma once
/// \file Random numbers that are the same with every standard library.

#include <cmath>
#include <cstdint>
#include <numbers>

namespace multicard {

/// SplitMix64 (Steele, Lea, Flood, 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
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
  std::uint64_t state_;
};

}  // namespace multicard
