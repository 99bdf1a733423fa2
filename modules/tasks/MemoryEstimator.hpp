#pragma once
/// \file The memory that a run will take, measured before its first step.

#include "results/Columns.hpp"
#include "tasks/MemoryEstimate.hpp"
#include "tasks/TrainingSetup.hpp"

namespace multicard {

/// Collective. What this rank will need, estimated from its tensors and from a forward and backward over few small
/// rows. \throws EnvironmentError on all ranks when it does not fit, with the largest run.micro_batch that does
MemoryEstimate estimate_memory(TrainingSetup& setup, MemoryGaps gaps);

/// Adds what was predicted, and what the process and its device have held at most.
void record_memory(const MemoryEstimate& predicted, const TrainingSetup& setup, RankRecord& record);

}  // namespace multicard
