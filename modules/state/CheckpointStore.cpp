#include "state/CheckpointStore.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/JsonText.hpp"
#include "comm/Agreement.hpp"
#include "config/Deck.hpp"
#include "io/AtomicFile.hpp"
#include "io/Bytes.hpp"
#include "io/JsonReader.hpp"
#include "io/OwnFiles.hpp"
#include "state/CheckpointFolder.hpp"

namespace multicard {

namespace fs = std::filesystem;

namespace {

using checkpoint_folder::complete_ones;
using checkpoint_folder::kBestFile;
using checkpoint_folder::kMarker;
using checkpoint_folder::named;
using checkpoint_folder::names_step;
using checkpoint_folder::remove_leftovers;
using checkpoint_folder::with_file_errors;

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
