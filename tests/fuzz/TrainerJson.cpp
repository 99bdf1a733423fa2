// trainer.json of a checkpoint with the checksum that belongs to it: what a run, an evaluation and a later start read.
#include <filesystem>

#include "fuzz/Target.hpp"
#include "io/Sha256.hpp"
#include "state/CheckpointStore.hpp"

namespace multicard::fuzz {

const std::vector<ExitCode> kDocumentedCodes{ExitCode::data};

void read(std::string_view input) {
  static const std::string kCheckpoint = [] {
    std::filesystem::create_directory(scratch_folder() + "/checkpoint");
    scratch_file("checkpoint/model.safetensors", "abc");
    return scratch_folder() + "/checkpoint";
  }();
  scratch_file("checkpoint/trainer.json", input);
  scratch_file("checkpoint/COMPLETE", sha256(std::string(input)) + "\n");
  const TrainerState state = CheckpointStore::read_state(kCheckpoint);
  require(state.step >= 0, "a step is negative");
  CheckpointStore::origin_of(kCheckpoint);
  CheckpointStore::has_records(kCheckpoint, kCheckpoint + "/records.h5");
  CheckpointStore::verify(kCheckpoint);
}

}  // namespace multicard::fuzz
