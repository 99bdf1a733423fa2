#pragma once
/// \file Resuming a run from a checkpoint.

#include <string>

#include "state/CheckpointStore.hpp"
#include "tasks/setup/TrainingSetup.hpp"
#include "train/TrainingState.hpp"

namespace multicard {

/// Checks that a run which is to have what `setup` has may resume from `state`. \throws UsageError about what differs
void check_resumable(const TrainerState& state, const TrainingSetup& setup, const std::string& source);

/// Collective. Loads the checkpoint `folder` into `setup` and returns its state, with the records stored with it.
/// `store` holds the checkpoints of this run's output. \throws on all ranks DataError about the files, UsageError as
/// check_resumable
TrainingState resume_from(const std::string& folder, TrainingSetup& setup, const CheckpointStore& store);

}  // namespace multicard
