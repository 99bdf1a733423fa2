#pragma once
/// \file Everything that a run is after some step, apart from the ranks it runs on.

#include <map>
#include <optional>
#include <string>

#include "comm/Communicator.hpp"
#include "dist/SplitParameters.hpp"
#include "results/Columns.hpp"
#include "state/CheckpointParts.hpp"
#include "state/CheckpointStore.hpp"
#include "train/History.hpp"

namespace multicard {

/// A run between two steps: read from a checkpoint, or collected from the ranks that it leaves. Loading it into a
/// freshly built run on any number of ranks resumes the training.
struct TrainingState {
  TrainerState trainer;
  CheckpointParts parts;                     ///< host tensors: the model's, the optimizer's, the moving average's;
                                             ///< of a run that has left its ranks, split ones on the meta device
  std::vector<TensorPiece> pieces = {};      ///< of those, what this rank held, on the host; named FILE/NAME
  std::string source;                        ///< what the tensors are from, for messages: a folder, or words
  std::optional<History> history;            ///< of all ranks that ever ran; none: nothing is known of the steps before
  std::map<std::string, Table> tables = {};  ///< of the record, by name
  std::optional<BestCheckpoint> best = {};   ///< of the checkpoints that stand
  bool has_begun = false;                    ///< what comes before the first step is done
  bool stop_requested = false;               ///< by a rank that may have left since
  std::int64_t saved_step = -1;              ///< of the newest checkpoint; -1: none
};

/// The tensors of a checkpoint for `parts`, where they are wanted: views of the files. \throws DataError for a file
/// that is missing or not whole, and for tensors that do not match
CheckpointParts read_parts(const std::string& checkpoint, const CheckpointParts& parts);

/// Collective. Everybody receives root's state, but for pieces, which stay where they are. Tensors are sent in pieces
/// below what MPI counts in an int.
void broadcast(TrainingState& state, const Communicator& communicator, int root);

/// The tensors of a file of the state. \throws std::logic_error where it has none of that name
const NamedTensors& tensors_in(const TrainingState& state, const std::string& file);
/// Fills each target from the source of its name, which is whole, or on the meta device: then it stays as it is; errors
/// as copy_into() \param split null, or what each rank takes its parts of
void copy_by_name(const NamedTensors& targets, const NamedTensors& sources, SplitParameters* split = nullptr);

/// Fills the targets of `parts` from the tensors of the same file and name in `state`; files that no part names stay
/// unused, and a num_batches_tracked that is missing stays as it is. \throws std::logic_error for another tensor that
/// is missing or has another shape
void copy_into(const CheckpointParts& parts, const TrainingState& state);

/// Copies on the CPU, which stay as they are while training continues; what is on the meta device is so in them.
CheckpointParts host_copies(const CheckpointParts& parts);

}  // namespace multicard
