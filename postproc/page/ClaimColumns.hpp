#pragma once
/// \file The columns of the tables of a claim.

#include "postproc/page/Columns.hpp"
#include "postproc/study/ClaimRows.hpp"

namespace multicard::post {

Columns<IterationChange> iteration_change_columns();
Columns<IterationTime> iteration_time_columns();
Columns<SimulatedChange> simulated_change_columns();
Columns<MemoryUse> memory_use_columns();
Columns<CommunicationCost> communication_cost_columns();
/// Changes over the first variant, of those that have one before them.
Columns<CommunicationCost> communication_change_columns();

}  // namespace multicard::post
