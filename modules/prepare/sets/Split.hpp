#pragma once
/// \file Setting aside a part of a data set for testing.

#include <cstdint>
#include <vector>

namespace multicard {

/// For each of `count` things whether it goes into the test set: round(fraction * count) of them, the first of the
/// Sampler's order of epoch 0 with this seed.
/// \throws UsageError, which all ranks find, when that leaves the test set or the training set empty
std::vector<bool> choose_test_part(std::int64_t count, double fraction, std::uint64_t seed);

}  // namespace multicard
