#pragma once
/// \file Limits of times and counts in decks, which are added, multiplied and turned into nanoseconds.

#include <cstdint>

namespace multicard {

inline constexpr double kLeastInterval = 0.1;  ///< seconds

/// The largest.
namespace most {
inline constexpr double kSeconds = 1e9;  ///< about 32 years
inline constexpr std::int64_t kSteps = 100'000'000'000, kEpochs = 1'000'000'000;
inline constexpr std::int64_t kRows = 1 << 24;  ///< of a batch
}  // namespace most

}  // namespace multicard
