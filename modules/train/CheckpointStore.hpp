#pragma once
/// \file Checkpoints on disk: OUTPUT/checkpoints/step_00000400/ (docs/checkpoints.md).

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "comm/Communicator.hpp"
#include "state/NamedTensor.hpp"

namespace multicard {

/// What trainer.json holds besides the tensors. It does not depend on the number of ranks.
struct TrainerState {
  std::int64_t step = 0;          ///< completed updates
  std::int64_t samples_seen = 0;  ///< rows over all ranks
  std::int64_t global_batch = 0;  ///< rows of an update
  std::string deck;               ///< resolved YAML
};

/// The checkpoints of one run. A checkpoint is a folder with model.safetensors, optimizer.safetensors, trainer.json
/// and, written last, COMPLETE; without that marker it does not count. It is made under a name that starts with a dot.
class CheckpointStore {
 public:
  /// Keeps the newest `keep` checkpoints, at least one.
  CheckpointStore(const std::string& output, int keep);

  /// Collective. Rank 0 writes; the others wait. DataError on all ranks when the disk is full; older checkpoints stay.
  /// NumericalError on all ranks, and nothing is written, when a tensor holds a value that is not finite.
  void save(const Communicator& communicator, const TrainerState& state, const NamedTensors& model,
            const NamedTensors& optimizer) const;

  /// The newest complete checkpoint.
  std::optional<std::string> newest() const;
  /// Removes all checkpoints.
  void clear() const;

  /// \throws DataError naming the folder and what is wrong with it: not complete, unreadable, of a newer schema.
  static TrainerState read_state(const std::string& checkpoint);
  static std::string model_file(const std::string& checkpoint) { return checkpoint + "/model.safetensors"; }
  static std::string optimizer_file(const std::string& checkpoint) { return checkpoint + "/optimizer.safetensors"; }

 private:
  std::vector<std::filesystem::path> complete_ones() const;
  void write_folder(const std::filesystem::path& folder, const TrainerState& state, const NamedTensors& model,
                    const NamedTensors& optimizer) const;
  /// Removes what exceeds `keep`, and what is newer than `newest`: an abandoned future.
  void remove_others(const std::filesystem::path& newest) const;

  std::filesystem::path folder_;
  int keep_;
};

}  // namespace multicard
