#pragma once
// The channels of a row, a vector at a time; see Vectors.hpp for who may include this.

#include "kernels/cpu/Vectors.hpp"

namespace multicard {
namespace {

// Calls body<Lanes>(channel) over all channels, a register of them at a time, then fewer.
template <typename T, typename Body>
MULTICARD_INLINE void for_channels(std::int64_t channels, Body body) {
  constexpr int kWide = kWidth<T>;
  std::int64_t c = 0;
  for (; c + kWide <= channels; c += kWide)
    body.template operator()<kWide>(c);
  if constexpr (kWide > 8)
    for (; c + 8 <= channels; c += 8)
      body.template operator()<8>(c);
  for (; c < channels; ++c)
    body.template operator()<1>(c);
}

}  // namespace
}  // namespace multicard
