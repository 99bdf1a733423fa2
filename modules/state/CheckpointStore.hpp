#pragma once
/// \file Checkpoints on disk: OUTPUT/checkpoints/step_00000400/ (docs/checkpoints.md).

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/Error.hpp"
#include "io/FileRanges.hpp"

namespace multicard {

/// The checkpoint that a run was told to begin from (run.resume=PATH).
struct CheckpointOrigin {
  std::string path;    ///< absolute
  std::string sha256;  ///< of its trainer.json, which holds the hashes of the tensors
};

/// What trainer.json holds besides the tensors. It does not depend on the number of ranks.
struct TrainerState {
  std::int64_t step = 0;                     ///< completed updates
  std::int64_t samples_seen = 0;             ///< rows over all ranks
  std::int64_t global_batch = 0;             ///< rows of an update
  std::string deck;                          ///< resolved YAML
  std::map<std::string, double> extra = {};  ///< small finite numbers by name, kept exactly (loss scale and the like)
  std::map<std::string, std::string> text = {};   ///< short texts by name (the base model and its hash)
  std::map<std::string, std::string> files = {};  ///< written with the tensors: content by name; not read back
  std::optional<CheckpointOrigin> origin = {};    ///< none for a run that started from scratch
};

struct CheckpointPart;  // state/CheckpointParts.hpp, which needs LibTorch
using CheckpointParts = std::vector<CheckpointPart>;

/// What ranks have written of the files that they write together, by file.
using WrittenFiles = std::map<std::string, std::vector<WrittenRanges>>;

/// The folder of a checkpoint that is being written. It has a temporary name, and is removed with all that is in it
/// unless CheckpointStore::complete() succeeds, also when the job is aborted.
class PendingCheckpoint {
 public:
  /// \param final_name of the checkpoint
  explicit PendingCheckpoint(const std::filesystem::path& final_name);
  ~PendingCheckpoint();
  PendingCheckpoint(const PendingCheckpoint&) = delete;
  PendingCheckpoint& operator=(const PendingCheckpoint&) = delete;

  std::string folder() const { return folder_.string(); }
  const std::filesystem::path& final_name() const { return final_name_; }
  /// Gives the folder its name. What of the checkpoint that had it before is not the program's stays in it.
  void commit();

 private:
  std::filesystem::path final_name_, folder_;
  int ticket_;
  bool pending_ = true;
};

inline constexpr const char* kStateFile = "trainer.json";
inline constexpr const char* kModelFile = "model.safetensors";
inline constexpr const char* kOptimizerFile = "optimizer.safetensors";
inline constexpr const char* kAverageFile = "ema.safetensors";
inline constexpr const char* kCompressionFile = "powersgd.safetensors";

/// The checkpoint with the best evaluation so far.
struct BestCheckpoint {
  std::int64_t step = 0;
  double score = 0;  ///< accuracy, or whatever is better the higher it is
};

/// The checkpoints of one run. A checkpoint is a folder with its tensor files, trainer.json (which knows their lengths
/// and SHA-256) and, written last, COMPLETE with the SHA-256 of trainer.json; without that marker it does not count. It
/// is made under a name that starts with a dot. One process at a time may write. What else is in the folders is left
/// alone: files next to checkpoints and in them, and links.
class CheckpointStore {
 public:
  /// Keeps the newest `keep` checkpoints, at least one, and the best.
  CheckpointStore(const std::string& output, int keep);

  /// Writes a checkpoint and then removes what exceeds `keep` and what is newer: an abandoned future.
  /// \param parts tensors on the CPU
  /// \param best the score of this checkpoint when it is the best so far
  /// \param write_records writes the records that belong to the checkpoint and returns their path, or nothing; called
  /// before the checkpoint has its name
  /// \throws DataError when the disk is full or the like, or what has its name is not a checkpoint, NumericalError when
  /// a tensor holds a value that is not finite. Older checkpoints stay then, and whatever `write_records` throws.
  void write(
      const TrainerState& state, const CheckpointParts& parts, std::optional<double> best = std::nullopt,
      const std::function<std::string()>& write_records = [] { return std::string(); }) const;

  /// \name A checkpoint that ranks write together: the root begins it, each rank writes its pieces of the split files
  /// (state/SplitFile.hpp), then the root, which knows what all have written, completes it. Errors as write().
  /// @{
  /// \param parts of the root \return with the split files, which nothing is in
  std::shared_ptr<PendingCheckpoint> begin(std::int64_t step, const CheckpointParts& parts) const;
  /// \param parts of this rank, on the CPU
  static WrittenFiles write_pieces(const std::string& folder, const CheckpointParts& parts, bool is_root);
  void complete(PendingCheckpoint& pending, const TrainerState& state, const CheckpointParts& parts,
                const WrittenFiles& written, std::optional<double> best,
                const std::function<std::string()>& write_records) const;
  /// @}

  /// The newest complete checkpoint.
  std::optional<std::string> newest() const;
  /// The newest complete checkpoint of a run that was told to begin from `named` and has come further. One that cannot
  /// be read does not count. `named` itself may be gone: then its path decides, else its content.
  std::optional<std::string> newest_from(const std::string& named) const;
  /// The checkpoint that was written as the best, if it still stands.
  std::optional<BestCheckpoint> best() const;
  /// Whether `checkpoint` is one of this store.
  bool owns(const std::string& checkpoint) const;
  /// Removes all checkpoints. Whatever else is in their folder stays.
  void clear() const;
  /// Before anything is written. \throws UsageError when the folder of the checkpoints, or a name in it that is needed,
  /// is not the program's (io/OwnFiles.hpp).
  void require_own() const;

  /// \throws DataError naming the folder and what is wrong with it: not complete, unreadable, of a newer schema, not as
  /// it was written, or named for another step. It also names an older complete one next to it.
  static TrainerState read_state(const std::string& checkpoint);
  /// How checkpoints of a run that begins from `checkpoint` name it. \throws DataError when it cannot be read.
  static CheckpointOrigin origin_of(const std::string& checkpoint);
  /// Reads all tensor files; of `num_ranks` that do so, each reads its share. \throws DataError naming the file that is
  /// missing, has another length than when it was written, or other content.
  static void verify(const std::string& checkpoint, int rank = 0, int num_ranks = 1);
  /// Whether records were written with the checkpoint.
  static bool names_records(const std::string& checkpoint);
  /// Whether the file `records` is the one that was written with the checkpoint. Only timings and metrics depend on it,
  /// so this is not an error.
  static bool has_records(const std::string& checkpoint, const std::string& records);
  /// `error` about a checkpoint with a hint at the newest older one that is complete, if there is one.
  static Error with_older_one(const Error& error, const std::string& checkpoint);

  static std::string model_file(const std::string& checkpoint) { return checkpoint + "/" + kModelFile; }
  static std::string average_file(const std::string& checkpoint) { return checkpoint + "/" + kAverageFile; }

 private:
  void remove_others(const std::filesystem::path& newest) const;
  std::optional<BestCheckpoint> recorded_best() const;  ///< by BEST
  void record_best(const BestCheckpoint& best) const;

  std::filesystem::path folder_;
  int keep_;
};

}  // namespace multicard
