#pragma once
/// \file The memory that a run will take, measured before its first step.

#include <string>

#include "memory/MemoryEstimate.hpp"
#include "results/RankRecord.hpp"
#include "tasks/setup/TrainingSetup.hpp"

namespace multicard {

/// Collective. What this rank will need, estimated from its tensors and from a forward and backward over few small
/// rows. \throws EnvironmentError on all ranks when it does not fit, with the largest run.micro_batch that does
MemoryEstimate estimate_memory(TrainingSetup& setup, MemoryGaps gaps);

/// Collective. For run.micro_batch: auto: gives `setup` the largest divisor of a rank's rows that fits all ranks (1 if
/// none does) and returns in words what was chosen and why. Gaps between a GPU's blocks are reserved.
std::string choose_micro_batch(TrainingSetup& setup);

/// Collective. Lines of a table: what each rank will hold, in plain words.
std::vector<std::string> memory_table(TrainingSetup& setup, const MemoryEstimate& estimate);

/// Rows that a rank computes at once: run.micro_batch, or all that a rank of a full batch has.
std::int64_t rows_at_once(const TrainingSetup& setup);

/// Adds what was predicted, and what the process and its device have held at most.
void record_memory(const MemoryEstimate& predicted, const TrainingSetup& setup, RankRecord& record);

}  // namespace multicard
