#include "kernels/DynamicMap.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>

namespace multicard {

namespace {

enum class Signs { both, positive };

/// Entry i of torch.linspace(0.1, 1, steps + 1) in float32, which goes from both ends to the middle.
float bound_of_decade(int i, int steps) {
  const float low = 0.1F, high = 1, step = (high - low) / static_cast<float>(steps);
  return i < (steps + 1) / 2 ? std::fma(step, static_cast<float>(i), low)
                             : std::fma(-step, static_cast<float>(steps - i), high);
}

void fill_values(Signs signs, DynamicMap& map) {
  // Middles of 1, 2, 4, ... 64 steps (twice as many without signs) in the decades that end at 1e-6, 1e-5, ... 1: 254
  // values; 0 and 1 complete them to 256. -1 has no code of its own.
  float* value = map.values;
  for (int decade = 0; decade < 7; ++decade) {
    const int steps = (signs == Signs::both ? 1 : 2) << decade;
    const auto power = static_cast<float>(std::pow(10.0, decade - 6));
    for (int i = 0; i < steps; ++i) {
      const float middle = power * ((bound_of_decade(i, steps) + bound_of_decade(i + 1, steps)) / 2);
      *value++ = middle;
      if (signs == Signs::both) *value++ = -middle;
    }
  }
  *value++ = 0;
  *value++ = 1;
  std::sort(std::begin(map.values), std::end(map.values));
}

/// The smallest value of a key.
float start_of_key(int key) {
  return key == 0 ? 0 : std::bit_cast<float>(static_cast<std::uint32_t>(DynamicMap::kFirstKey + key) << 16);
}

DynamicMap made_map(Signs signs) {
  DynamicMap map{};
  fill_values(signs, map);
  for (int i = 0; i < 255; ++i)
    map.bounds[i] = (map.values[i] + map.values[i + 1]) / 2;
  map.bounds[255] = std::numeric_limits<float>::infinity();
  const auto first = std::begin(map.bounds), end = std::end(map.bounds);
  // A table from the upper 16 bits of a value (sign, exponent, seven bits of mantissa) to the bounds that lie below all
  // values with these bits. At most one bound lies among them, so one comparison finds the code.
  for (int key = 0; key < DynamicMap::kNumKeys; ++key) {
    const bool is_last = key + 1 == DynamicMap::kNumKeys;
    map.below[key] = static_cast<std::uint8_t>(std::lower_bound(first, end, start_of_key(key)) - first);
    map.below[DynamicMap::kNumKeys + key] =
        static_cast<std::uint8_t>(is_last ? 0 : std::upper_bound(first, end, -start_of_key(key + 1)) - first);
  }
  return map;
}

}  // namespace

const DynamicMap& signed_dynamic_map() {
  static const DynamicMap map = made_map(Signs::both);
  return map;
}

const DynamicMap& unsigned_dynamic_map() {
  static const DynamicMap map = made_map(Signs::positive);
  return map;
}

}  // namespace multicard
