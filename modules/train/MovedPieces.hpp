#pragma once
/// \file Split tensors of a run that changes its ranks.

#include <vector>

#include "comm/Communicator.hpp"
#include "state/CheckpointParts.hpp"
#include "train/TrainingState.hpp"

namespace multicard {

/// What this rank holds of them, copied to the CPU.
std::vector<TensorPiece> held_pieces(const CheckpointParts& parts);
/// What this rank of another run must have of them: the memory of its own `parts`, where those of `state` are on the
/// meta device.
std::vector<TensorPiece> wanted_pieces(const CheckpointParts& parts, const TrainingState& state);
/// Collective. Fills what each rank wants with what any holds, from rank to rank (exchange_ranges()). \throws on all
/// ranks where one has too little host memory for what its GPU is to have
void exchange_pieces(const std::vector<TensorPiece>& held, const std::vector<TensorPiece>& wanted,
                     const Communicator& communicator);

}  // namespace multicard
