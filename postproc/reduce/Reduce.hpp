#pragma once
/// \file Reduces the recorded data of a run to the numbers of the report.

#include <vector>

#include "postproc/reduce/RunReport.hpp"
#include "results/ResultsReader.hpp"

namespace multicard::post {

/// Which steps count by who took part in them.
enum class Presence {
  all_ranks,  ///< those of the largest number of ranks: the number that a run is compared by
  any_ranks   ///< all: of a task of a shared job, whose ranks change
};

/// The steps that count: not among the first skip_steps of the run or of a later segment, and with the ranks present.
std::vector<std::size_t> measured_steps(const RunData& run, Presence presence = Presence::all_ranks);

/// Everything the report says about one run. A run without steps keeps its settings, status and error.
RunReport reduce_run(const RunData& run, Presence presence = Presence::all_ranks);

}  // namespace multicard::post
