#include "state/CheckpointStore.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Clock.hpp"
#include "base/JsonText.hpp"
#include "comm/AbortRemovals.hpp"
#include "comm/Agreement.hpp"
#include "config/Deck.hpp"
#include "io/AtomicFile.hpp"
#include "io/Bytes.hpp"
#include "io/JsonReader.hpp"
#include "io/OwnFiles.hpp"
#include "io/Sha256.hpp"
#include "state/CheckpointFolder.hpp"
#include "state/CheckpointParts.hpp"
#include "state/TensorFile.hpp"

namespace multicard {

namespace fs = std::filesystem;

namespace {

using checkpoint_folder::complete_ones;
using checkpoint_folder::kBestFile;
using checkpoint_folder::keep_foreign;
using checkpoint_folder::kMarker;
using checkpoint_folder::named;
using checkpoint_folder::names_step;
using checkpoint_folder::remove_leftovers;
using checkpoint_folder::require_own_or_free;

/// Errors of the file system as the user should see them.
template <class Body>
void with_file_errors(const std::string& what, Body&& body) {
  try {
    body();
  } catch (const fs::filesystem_error& error) {
    throw DataError(what, error.code().message());
  }
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

void check_finite(const TrainerState& state, const CheckpointParts& parts) {
  // Before any file is touched: weights of a diverged training must not take the place of good ones.
  for (const CheckpointPart& part : parts)
    for (const NamedTensor& entry : part.tensors)
      if (!is_finite(entry.tensor)) refuse_values(entry.name);
  for (const auto& [name, value] : state.extra)
    if (!std::isfinite(value)) refuse_values(name);
}

nlohmann::ordered_json fingerprint(const std::string& path) {
  return {{"bytes", fs::file_size(path)}, {"sha256", sha256_of_file(path)}};
}

/// trainer.json has the checksums of the other files, and COMPLETE, which is written last, that of trainer.json.
void write_content(const fs::path& folder, const TrainerState& state, const CheckpointParts& parts,
                   std::optional<double> best, const std::string& records) {
  nlohmann::ordered_json files = nlohmann::ordered_json::object();
  const auto note = [&](const std::string& name) { files[name] = fingerprint((folder / name).string()); };
  for (const CheckpointPart& part : parts) {
    save_tensors((folder / part.file).string(), part.tensors);
    note(part.file);
  }
  for (const auto& [name, content] : state.files) {
    write_file((folder / name).string(), content);
    note(name);
  }
  nlohmann::ordered_json json = {{"format", checkpoint_folder::kFormat},
                                 {"schema_version", checkpoint_folder::kSchemaVersion},
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

/// What its trainer.json says; nothing where that is damaged, which those tell who read the checkpoint.
std::optional<BestCheckpoint> best_when_written(const fs::path& checkpoint) {
  const std::string file = (checkpoint / kStateFile).string();
  if (why_unreadable(file)) return std::nullopt;
  const auto json = nlohmann::json::parse(read_file(file), nullptr, false);
  if (!json.is_object() || !json.contains("best_score") || !json["best_score"].is_number() || !json.contains("step") ||
      !json["step"].is_number_integer())
    return std::nullopt;
  return BestCheckpoint{json["step"].get<std::int64_t>(), json["best_score"].get<double>()};
}

}  // namespace

CheckpointStore::CheckpointStore(const std::string& output, int keep)
    : folder_(fs::path(output) / "checkpoints"), keep_(std::max(keep, 1)) {}

// How files make a checkpoint atomic. All of it is written into a folder `.step_N.HOST-PID-K.part`, which no reader
// looks at: tensor files, then trainer.json with their SHA-256, then COMPLETE with that of trainer.json, so that
// COMPLETE covers everything. The folder then gets its name by a rename, or by an exchange where a checkpoint of
// that step stands. A process killed before the rename leaves a dot folder, which the next write removes; one killed
// after it leaves a whole checkpoint. Removing goes in the opposite order: renamed to a dot folder first, then deleted.
// Hence a reader that finds COMPLETE finds a whole checkpoint. One process writes (rank 0, which holds the lock of the
// output folder), so the files need no other lock. BEST is written after the checkpoint that it names; its trainer.json
// says too that it is the best, for a process that is killed in between.
void CheckpointStore::write(const TrainerState& state, const CheckpointParts& parts, std::optional<double> best,
                            const std::function<std::string()>& write_records) const {
  check_finite(state, parts);
  const fs::path final_name = folder_ / named(state.step), pending = temporary_path(final_name.string());
  with_file_errors(fmt::format("checkpoint {} cannot be written", final_name.string()), [&] {
    require_own_or_free(final_name);
    mark_folder(folder_.string());
    // Before anything is written: what a killed process has left may be what fills the disk.
    remove_leftovers(folder_);
    const int ticket = on_abort_remove(pending.string());
    try {
      mark_folder(pending.string());
      write_content(pending, state, parts, best, write_records());
      remove_own_file((pending / kFolderMark).string());
      put_in_place(pending.string(), final_name.string());
    } catch (...) {
      remove_own_folder(pending.string());
      cancel_on_abort(ticket);
      throw;
    }
    cancel_on_abort(ticket);
    keep_foreign(pending, final_name);  // of what stood there before
    checkpoint_folder::remove_checkpoint(pending);
    if (best) record_best({state.step, *best});
    remove_others(final_name);
    // A process that was killed after the rename, or a best one removed as newer, leaves BEST wrong.
    const std::optional<BestCheckpoint> found = this->best(), recorded = recorded_best();
    if (found && (!recorded || recorded->step != found->step)) record_best(*found);
  });
}

void CheckpointStore::record_best(const BestCheckpoint& best) const {
  const nlohmann::ordered_json json = {{"step", best.step}, {"score", best.score}};
  write_file((folder_ / kBestFile).string(), json_text(json) + "\n");
}

void CheckpointStore::remove_others(const fs::path& newest) const {
  const std::vector<fs::path> all = complete_ones(folder_);
  // Newer ones exist where a run resumed from an older checkpoint: they are of a training that this one has left.
  const auto last = std::find(all.begin(), all.end(), newest) - all.begin();
  const std::optional<BestCheckpoint> best_one = best();
  for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(all.size()); ++i) {
    const fs::path& path = all[static_cast<std::size_t>(i)];
    const bool is_best = best_one && path.filename() == named(best_one->step);
    if (i <= last && (i > last - keep_ || is_best)) continue;
    checkpoint_folder::retire(path);
  }
}

std::optional<std::string> CheckpointStore::newest() const {
  const std::vector<fs::path> all = complete_ones(folder_);
  if (all.empty()) return std::nullopt;
  return all.back().string();
}

std::optional<std::string> CheckpointStore::newest_from(const std::string& named) const {
  // By content where it is there, since folders are renamed; by path where it is gone.
  std::optional<CheckpointOrigin> wanted;
  if (fs::exists(fs::path(named) / kMarker)) wanted = origin_of(named);
  const std::vector<fs::path> all = complete_ones(folder_);
  const auto begins_there = [&](const fs::path& checkpoint) {
    try {
      const std::optional<CheckpointOrigin> origin = read_state(checkpoint.string()).origin;
      return origin &&
             (wanted ? origin->sha256 == wanted->sha256 : origin->path == checkpoint_folder::absolute_name(named));
    } catch (const Error&) {
      return false;
    }
  };
  const auto found = std::find_if(all.rbegin(), all.rend(), begins_there);
  return found == all.rend() ? std::nullopt : std::optional(found->string());
}

std::optional<BestCheckpoint> CheckpointStore::best() const {
  const std::optional<BestCheckpoint> recorded = recorded_best();
  const std::vector<fs::path> all = complete_ones(folder_);
  for (auto newer = all.rbegin(); newer != all.rend(); ++newer) {
    if (recorded && newer->filename() == named(recorded->step)) break;  // those before it are older
    if (const std::optional<BestCheckpoint> found = best_when_written(*newer)) return found;
  }
  return recorded;
}

std::optional<BestCheckpoint> CheckpointStore::recorded_best() const {
  const fs::path file = folder_ / kBestFile;
  if (!fs::exists(file)) return std::nullopt;
  const std::string problem = fmt::format("{} is damaged", file.string());
  const char* const cure = "Remove it: the newest checkpoint that was the best when it was written then counts.";
  const auto json = parse_json_object<nlohmann::json>(read_file(file.string()), problem, cure);
  if (!json.contains("step") || !json["step"].is_number_integer() || !json.contains("score") ||
      !json["score"].is_number())
    throw DataError(problem, "it does not name a step and its score", cure);
  const BestCheckpoint found{json["step"].get<std::int64_t>(), json["score"].get<double>()};
  // The best one may have been removed by hand since.
  if (!fs::exists(folder_ / named(found.step) / kMarker)) return std::nullopt;
  return found;
}

bool CheckpointStore::owns(const std::string& checkpoint) const {
  std::error_code ignored;
  return fs::equivalent(fs::path(checkpoint) / "..", folder_, ignored);
}

void CheckpointStore::clear() const {
  with_file_errors(fmt::format("{} cannot be removed", folder_.string()), [&] {
    remove_leftovers(folder_);
    for (const std::string& name : names_in(folder_.string()))
      if (names_step(name)) checkpoint_folder::retire(folder_ / name);
  });
  remove_own_files(folder_.string(), [](const std::string& path) {
    return fs::path(path).filename() == kBestFile && checkpoint_folder::is_best_file(path);
  });
}

void CheckpointStore::require_own() const {
  const auto is_known = [](const std::string& path) {
    const std::string name = fs::path(path).filename().string();
    if (name == kBestFile) return checkpoint_folder::is_best_file(path);
    const bool is_checkpoint = names_step(name) || is_taken(path + "/" + kStateFile);
    return checkpoint_folder::is_leftover(path) || (is_checkpoint && checkpoint_folder::is_own(path));
  };
  require_own_folder(folder_.string(), "checkpoints", is_known);
  require_own_file((folder_ / kBestFile).string(), "the record of the best checkpoint",
                   checkpoint_folder::is_best_file);
  for (const std::string& name : names_in(folder_.string()))
    if (const fs::path path = folder_ / name; names_step(name) && !checkpoint_folder::is_own(path))
      refuse_foreign(path.string(), "a checkpoint");
}

}  // namespace multicard
