#pragma once
/// \file Compares ranks: own times, their spread, stragglers.

#include <vector>

#include "postproc/reduce/RunReport.hpp"
#include "results/ResultsReader.hpp"

namespace multicard::post {

/// Fills rank_reports and rank_spread of `report` from the measured steps, of which there must be at least one.
void reduce_ranks(const RunData& run, const std::vector<std::size_t>& measured, RunReport& report);

}  // namespace multicard::post
