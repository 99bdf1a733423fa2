#pragma once
/// \file Random numbers as a function of a key and a counter.

#include <cstdint>

namespace multicard {

/// The output that generator SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) started at `key` has at place `counter`.
constexpr std::uint64_t splitmix64(std::uint64_t key, std::uint64_t counter) {
  std::uint64_t z = key + (counter + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// Maps 64 random bits evenly to 0 ... bound - 1: floor(random * bound / 2^64).
constexpr std::uint64_t below(std::uint64_t random, std::uint64_t bound) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(random) * bound) >> 64);
}

}  // namespace multicard
