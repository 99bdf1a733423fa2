#pragma once
/// \file Token counts as people read them.

#include <cstdint>
#include <string>
#include <vector>

namespace multicard {

/// Several lines on the lengths of sequences: extremes, median, mean, a histogram and, for `can_pack`,
/// how full rows of several lengths become. `lengths` are in input order, at least one.
std::string length_summary(const std::vector<std::int64_t>& lengths, bool can_pack);

}  // namespace multicard
