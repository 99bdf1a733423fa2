#pragma once
/// \file Rates that a sweep has measured.

#include <string>

#include "scheduling/rates/RateTable.hpp"

namespace multicard {

/// The rates of a results file by ranks, in samples (rows) per second over all ranks: the median over the steps after
/// warm-up, samples of all ranks by the seconds of the slowest one; of repeats (runs of equal decks) the median, of
/// different variants on equally many ranks the fastest. Memory is the largest device_reserved_bytes (without a GPU:
/// none). Runs that failed or have no steps are left out. \throws DataError
RateTable read_measured_rates(const std::string& path);

}  // namespace multicard
