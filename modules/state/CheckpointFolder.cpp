#include "state/CheckpointFolder.hpp"

#include <algorithm>
#include <set>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"
#include "io/OwnFiles.hpp"
#include "state/CheckpointStore.hpp"

namespace multicard::checkpoint_folder {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "step_";

bool says_checkpoint(const std::string& state_file) {
  return content_says(state_file, "{", kFormat);
}

/// Empty, as before schema version 2, or a SHA-256.
bool is_marker(const std::string& path) {
  if (why_unreadable(path)) return false;
  const std::string text = read_file(path);
  return text.empty() || (text.size() == 65 && text.find_first_not_of("0123456789abcdef") == 64);
}

/// Whether COMPLETE names a trainer.json, which may be damaged.
bool is_marked_complete(const fs::path& checkpoint) {
  // COMPLETE holds a hash that nothing else writes; so a folder whose trainer.json is damaged is still known as ours,
  // and may be replaced or removed.
  const std::string marker = (checkpoint / kMarker).string();
  return is_marker(marker) && !read_file(marker).empty() && content_says((checkpoint / kStateFile).string(), "{", "");
}

/// Whether all that is in a folder could be left of a checkpoint that was being written or removed.
bool holds_leftovers_alone(const fs::path& folder) {
  const std::vector<std::string> names = names_in(folder.string());
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    const std::string path = (folder / name).string();
    if (name == kMarker) return is_marker(path);
    const bool is_tensors = name.ends_with(".safetensors") && is_plain_file(path);
    return is_own_temporary(path) || (is_tensors && content_says(path, "", "{\""));
  });
}

/// What trainer.json names besides the files of every checkpoint. Nothing where it cannot be read.
std::set<std::string> names_of(const fs::path& checkpoint) {
  std::set<std::string> names{kStateFile,
                              kMarker,
                              kModelFile,
                              kOptimizerFile,
                              kAverageFile,
                              kCompressionFile,
                              "adapter_model.safetensors",
                              "adapter_config.json"};
  const std::string state = (checkpoint / kStateFile).string();
  if (!says_checkpoint(state)) return names;
  // Without exceptions: of a damaged file nothing more is known, and what it names stays where it is.
  const auto json = nlohmann::json::parse(read_file(state), nullptr, false);
  if (!json.is_object() || !json.contains("files") || !json["files"].is_object()) return names;
  for (const auto& [name, ignored] : json["files"].items())
    // These names are removed later: one with a slash, in a file that may be damaged, must not lead out of the folder.
    if (name == fs::path(name).filename()) names.insert(name);
  return names;
}

/// What in the folder is not the checkpoint's, or is a link.
std::vector<std::string> foreign_in(const fs::path& checkpoint) {
  const std::set<std::string> own = names_of(checkpoint);
  std::vector<std::string> foreign = names_in(checkpoint.string());
  std::erase_if(foreign, [&](const std::string& name) {
    const std::string path = (checkpoint / name).string();
    return (own.contains(name) && is_plain_file(path)) || is_own_temporary(path);
  });
  return foreign;
}

}  // namespace

fs::path named(std::int64_t step) {
  return fmt::format("{}{:08}", kPrefix, step);
}

bool names_step(const std::string& name) {
  return name.starts_with(kPrefix) && name.size() > kPrefix.size() &&
         name.find_first_not_of("0123456789", kPrefix.size()) == std::string::npos;
}

std::string absolute_name(const std::string& folder) {
  return fs::absolute(folder + "/").lexically_normal().parent_path().string();
}

std::vector<fs::path> complete_ones(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code absent;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, absent))
    if (names_step(entry.path().filename().string()) && fs::exists(entry.path() / kMarker, absent))
      found.push_back(entry.path());
  // Names have the step in eight digits, so the order of names is that of steps.
  std::sort(found.begin(), found.end());
  return found;
}

bool is_own(const fs::path& checkpoint) {
  if (!is_folder(checkpoint.string())) return false;
  if (says_checkpoint((checkpoint / kStateFile).string()) || is_marked(checkpoint.string())) return true;
  if (is_marked_complete(checkpoint)) return true;
  // trainer.json is the last file that is removed: without it there is nothing of a checkpoint.
  const std::vector<std::string> names = names_in(checkpoint.string());
  return std::all_of(names.begin(), names.end(),
                     [&](const std::string& name) { return is_own_temporary((checkpoint / name).string()); });
}

bool is_best_file(const std::string& path) {
  return content_says(path, "{", "\"score\"");
}

void require_own_or_free(const fs::path& checkpoint) {
  if (!is_taken(checkpoint.string()) || (is_plain_folder(checkpoint.string()) && is_own(checkpoint))) return;
  throw DataError(fmt::format("{} cannot be replaced", checkpoint.string()),
                  is_own(checkpoint) ? "it is a link" : "multicard did not write it", "Move it away.");
}

void remove_checkpoint(const fs::path& checkpoint) {
  if (!is_plain_folder(checkpoint.string()) || !(is_own(checkpoint) || is_leftover(checkpoint))) return;
  // Read while trainer.json is still there: afterwards only the names that all checkpoints have would be known.
  const std::set<std::string> names = names_of(checkpoint);
  const auto path = [&](const char* name) { return (checkpoint / name).string(); };
  remove_own_file(path(kMarker));
  remove_own_files(checkpoint.string(), [&](const std::string& file) {
    const std::string name = fs::path(file).filename().string();
    return name != kStateFile && (names.contains(name) || is_own_temporary(file));
  });
  remove_own_file(path(kStateFile));  // last: it says whose the rest is
  remove_own_files(checkpoint.string(), [](const std::string&) { return false; });
}

void retire(const fs::path& checkpoint) {
  if (!is_plain_folder(checkpoint.string()) || !is_own(checkpoint)) return;
  if (!foreign_in(checkpoint).empty()) {
    mark_folder(checkpoint.string());  // the name is still that of a checkpoint to come, which takes the rest over
    return remove_checkpoint(checkpoint);
  }
  // One rename takes the whole checkpoint away from readers; the files then go one by one, which may take long.
  const fs::path leaving = temporary_path(checkpoint.string());
  fs::rename(checkpoint, leaving);
  remove_checkpoint(leaving);
}

void keep_foreign(const fs::path& before, const fs::path& now) {
  for (const std::string& name : foreign_in(before))
    // Never over a file of the new checkpoint. What cannot be moved stays in the old folder, which then stays, too.
    renameat2(AT_FDCWD, (before / name).c_str(), AT_FDCWD, (now / name).c_str(), RENAME_NOREPLACE);
}

bool is_leftover(const fs::path& path) {
  const std::string name = path.filename().string();
  // Under a name without a dot stands a whole checkpoint, or what a user has put there: no leftover in either case.
  if (!name.starts_with(".")) return false;
  const std::optional<TemporaryName> temporary = parse_temporary(name);
  if (!names_step(temporary ? temporary->final_name : name.substr(1))) return false;  // older ones: .step_N
  return is_own(path) || (is_folder(path.string()) && holds_leftovers_alone(path));
}

void remove_leftovers(const fs::path& folder) {
  for (const std::string& name : names_in(folder.string())) {
    const std::string path = (folder / name).string();
    if (!is_leftover(path)) continue;
    if (parse_temporary(name) && is_marked(path))
      remove_own_folder(path);  // it was being written
    else
      remove_checkpoint(path);
  }
}

}  // namespace multicard::checkpoint_folder
