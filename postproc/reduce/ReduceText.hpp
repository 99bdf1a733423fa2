#pragma once
/// \file Token counts of a run's batches.

#include <optional>
#include <vector>

#include "postproc/reduce/RunReport.hpp"
#include "results/ResultsReader.hpp"

namespace multicard::post {

/// Means over the measured steps, of which there must be at least one; nothing for a run that does not count tokens.
std::optional<TextReport> reduce_text(const RunData& run, const std::vector<std::size_t>& measured);

}  // namespace multicard::post
