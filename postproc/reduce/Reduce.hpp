#pragma once
/// \file Reduces the recorded data of a run to the numbers of the report.

#include "postproc/reduce/RunReport.hpp"
#include "results/MeasuredSteps.hpp"
#include "results/ResultsReader.hpp"

namespace multicard::post {

/// Everything the report says about one run. A run without steps keeps its settings, status and error.
RunReport reduce_run(const RunData& run, Presence presence = Presence::all_ranks);

}  // namespace multicard::post
