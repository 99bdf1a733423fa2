// How checkpoints are written.

#include <cmath>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Clock.hpp"
#include "base/JsonText.hpp"
#include "comm/AbortRemovals.hpp"
#include "io/AtomicFile.hpp"
#include "io/Bytes.hpp"
#include "io/OwnFiles.hpp"
#include "io/Sha256.hpp"
#include "state/CheckpointFolder.hpp"
#include "state/CheckpointParts.hpp"
#include "state/CheckpointStore.hpp"
#include "state/SplitFile.hpp"
#include "state/TensorFile.hpp"

namespace multicard {

namespace fs = std::filesystem;

namespace {

using checkpoint_folder::kMarker;
using checkpoint_folder::with_file_errors;

std::string unwritable(const fs::path& final_name) {
  return fmt::format("checkpoint {} cannot be written", final_name.string());
}

[[noreturn]] void refuse_values(const std::string& name) {
  throw NumericalError(fmt::format("{} holds values that are not finite", name), "training has diverged",
                       "No checkpoint was written. Lower optimizer.learning_rate or set optimizer.clip_norm.");
}

/// Whether an element has all bits of `exponent` set: infinities and NaN do.
template <class Bits>
bool any_has(Bits exponent, const at::Tensor& tensor) {
  // In integers and without leaving early: a loop that the compiler turns into vector code, at the speed of the memory.
  const auto* bytes = static_cast<const std::byte*>(tensor.const_data_ptr());
  Bits found = 0;
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    Bits bits;
    std::memcpy(&bits, bytes + static_cast<std::size_t>(i) * sizeof(Bits), sizeof(Bits));
    found |= static_cast<Bits>((bits & exponent) == exponent);
  }
  return found != 0;
}

bool is_finite(const at::Tensor& given) {
  const at::Tensor tensor = given.is_non_overlapping_and_dense() ? given : given.contiguous();
  switch (tensor.scalar_type()) {
    case at::kDouble:
      return !any_has<std::uint64_t>(0x7ff0'0000'0000'0000, tensor);
    case at::kFloat:
      return !any_has<std::uint32_t>(0x7f80'0000, tensor);
    case at::kHalf:
      return !any_has<std::uint16_t>(0x7c00, tensor);
    case at::kBFloat16:
      return !any_has<std::uint16_t>(0x7f80, tensor);
    default:
      return true;
  }
}

/// Weights of a diverged training must not take the place of good ones.
void check_finite(const CheckpointParts& parts) {
  for (const CheckpointPart& part : parts) {
    for (const auto& [name, tensor] : part.tensors)
      if (!tensor.is_meta() && !is_finite(tensor)) refuse_values(name);
    for (const TensorPiece& piece : part.pieces)
      if (!is_finite(piece.values)) refuse_values(piece.name);
  }
}

void check_finite(const TrainerState& state) {
  for (const auto& [name, value] : state.extra)
    if (!std::isfinite(value)) refuse_values(name);
}

nlohmann::ordered_json fingerprint(const std::string& path) {
  return {{"bytes", fs::file_size(path)}, {"sha256", sha256_of_file(path)}};
}

/// Of a file that ranks have written ranges of.
nlohmann::ordered_json fingerprint(const std::string& path, const std::vector<WrittenRanges>& written) {
  const std::uint64_t bytes = fs::file_size(path);
  ByteRanges all;
  nlohmann::ordered_json ranges = nlohmann::ordered_json::object();
  for (const WrittenRanges& of_rank : written) {
    if (of_rank.ranges.empty()) continue;
    all.insert(all.end(), of_rank.ranges.begin(), of_rank.ranges.end());
    ranges[ranges_text(of_rank.ranges)] = of_rank.sha256;
  }
  if (!cover(std::move(all), bytes)) throw std::logic_error(path + ": ranks have not written each byte once");
  return {{"bytes", bytes}, {"ranges", ranges}};
}

/// The files of a checkpoint but trainer.json, written where ranks have not done it, by name.
nlohmann::ordered_json write_files(const fs::path& folder, const TrainerState& state, const CheckpointParts& parts,
                                   const WrittenFiles& written) {
  nlohmann::ordered_json files = nlohmann::ordered_json::object();
  for (const CheckpointPart& part : parts) {
    const std::string path = (folder / part.file).string();
    const auto found = written.find(part.file);
    if (found == written.end()) save_tensors(path, part.tensors);
    files[part.file] = found == written.end() ? fingerprint(path) : fingerprint(path, found->second);
  }
  for (const auto& [name, content] : state.files) {
    const std::string path = (folder / name).string();
    write_file(path, content);
    files[name] = fingerprint(path);
  }
  return files;
}

/// trainer.json has the checksums of the other files, and COMPLETE, which is written last, that of trainer.json.
void write_content(const fs::path& folder, const TrainerState& state, const CheckpointParts& parts,
                   const WrittenFiles& written, std::optional<double> best, const std::string& records) {
  const nlohmann::ordered_json files = write_files(folder, state, parts, written);
  nlohmann::ordered_json json = {
      {"format", checkpoint_folder::kFormat},
      {"schema_version", written.empty() ? checkpoint_folder::kSchemaOfWholeFiles : checkpoint_folder::kSchemaVersion},
      {"created_utc", utc_now()},
      {"step", state.step},
      {"samples_seen", state.samples_seen},
      {"global_batch", state.global_batch},
      {"extra", state.extra},
      {"text", state.text},
      {"files", files},
      {"deck", state.deck}};
  if (best) json["best_score"] = *best;
  if (!records.empty()) json["records"] = fingerprint(records);
  if (state.origin) json["origin"] = {{"path", state.origin->path}, {"sha256", state.origin->sha256}};
  const std::string text = json_text(json, 2) + "\n";
  write_file((folder / kStateFile).string(), text);
  write_file((folder / kMarker).string(), sha256(text) + "\n");
}

}  // namespace

// How files make a checkpoint atomic. All of it is written into a folder `.step_N.HOST-PID-K.part`, which no reader
// looks at: tensor files, then trainer.json with their SHA-256, then COMPLETE with that of trainer.json, so that
// COMPLETE covers everything. The folder then gets its name by a rename, or by an exchange where a checkpoint of
// that step stands. A process killed before the rename leaves a dot folder, which the next write removes; one killed
// after it leaves a whole checkpoint. Removing goes in the opposite order: renamed to a dot folder first, then deleted.
// Hence a reader that finds COMPLETE finds a whole checkpoint. Rank 0, which holds the
// lock of the output folder, makes the folder and completes it; where ranks write together, the others write ranges of
// files that are there already, and rank 0 hears that all are on the disk, with their SHA-256, before it writes
// trainer.json. So the files need no other lock. BEST is written after the checkpoint that it names; its trainer.json
// says too that it is the best, for a process that is killed in between.
PendingCheckpoint::PendingCheckpoint(const fs::path& final_name)
    : final_name_(final_name),
      folder_(temporary_path(final_name.string())),
      ticket_(on_abort_remove(folder_.string())) {
  try {
    mark_folder(folder_.string());
  } catch (...) {
    remove_own_folder(folder_.string());
    cancel_on_abort(ticket_);
    throw;
  }
}

PendingCheckpoint::~PendingCheckpoint() {
  if (!pending_) return;
  remove_own_folder(folder_.string());
  cancel_on_abort(ticket_);
}

void PendingCheckpoint::commit() {
  remove_own_file((folder_ / kFolderMark).string());
  put_in_place(folder_.string(), final_name_.string());
  pending_ = false;
  cancel_on_abort(ticket_);
  checkpoint_folder::keep_foreign(folder_, final_name_);  // of what stood there before
  checkpoint_folder::remove_checkpoint(folder_);
}

std::shared_ptr<PendingCheckpoint> CheckpointStore::begin(std::int64_t step, const CheckpointParts& parts) const {
  const fs::path final_name = folder_ / checkpoint_folder::named(step);
  std::shared_ptr<PendingCheckpoint> pending;
  with_file_errors(unwritable(final_name), [&] {
    checkpoint_folder::require_own_or_free(final_name);
    mark_folder(folder_.string());
    // Before anything is written: what a killed process has left may be what fills the disk.
    checkpoint_folder::remove_leftovers(folder_);
    pending = std::make_shared<PendingCheckpoint>(final_name);
    for (const CheckpointPart& part : parts)
      if (is_split(part)) make_split_file(pending->folder(), part);
  });
  return pending;
}

WrittenFiles CheckpointStore::write_pieces(const std::string& folder, const CheckpointParts& parts, bool is_root) {
  check_finite(parts);
  WrittenFiles written;
  for (const CheckpointPart& part : parts)
    if (is_split(part)) written[part.file].push_back(write_split_file(folder, part, is_root));
  return written;
}

void CheckpointStore::complete(PendingCheckpoint& pending, const TrainerState& state, const CheckpointParts& parts,
                               const WrittenFiles& written, std::optional<double> best,
                               const std::function<std::string()>& write_records) const {
  check_finite(state);
  with_file_errors(unwritable(pending.final_name()), [&] {
    write_content(pending.folder(), state, parts, written, best, write_records());
    pending.commit();
    if (best) record_best({state.step, *best});
    remove_others(pending.final_name());
    // A process that was killed after the rename, or a best one removed as newer, leaves BEST wrong.
    const std::optional<BestCheckpoint> found = this->best(), recorded = recorded_best();
    if (found && (!recorded || recorded->step != found->step)) record_best(*found);
  });
}

void CheckpointStore::write(const TrainerState& state, const CheckpointParts& parts, std::optional<double> best,
                            const std::function<std::string()>& write_records) const {
  check_finite(parts);  // before any file is touched
  complete(*begin(state.step, parts), state, parts, {}, best, write_records);
}

}  // namespace multicard
