#pragma once
/// \file Reduces the recorded data of a run to the numbers of the report.

#include <vector>

#include "postproc/reduce/RunReport.hpp"
#include "results/ResultsReader.hpp"

namespace multicard::post {

/// The steps that count: not among the first skip_steps of the run or of a later segment, and with all ranks present.
std::vector<std::size_t> measured_steps(const RunData& run);

/// Everything the report says about one run. A run without steps keeps its settings, status and error.
RunReport reduce_run(const RunData& run);

}  // namespace multicard::post
