#pragma once
/// \file How the folders of checkpoints are named, marked, recognised and removed; for modules/state only.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/Error.hpp"

namespace multicard::checkpoint_folder {

/// Of trainer.json. Since 2 COMPLETE holds its SHA-256; 3 only where ranks wrote ranges of a file, which have one each.
inline constexpr int kSchemaVersion = 3;
/// Of a trainer.json without such files, which older programs read.
inline constexpr int kSchemaOfWholeFiles = 2;
inline constexpr const char* kFormat = "multicard-checkpoint";
inline constexpr const char* kMarker = "COMPLETE";
inline constexpr const char* kBestFile = "BEST";

/// "step_00000400"
std::filesystem::path named(std::int64_t step);
/// Whether a checkpoint could have this name: step_ and digits.
bool names_step(const std::string& name);

/// The complete checkpoints in `folder`, by name.
std::vector<std::filesystem::path> complete_ones(const std::filesystem::path& folder);

/// The same however the folder is written: relative, with a slash at its end.
std::string absolute_name(const std::string& folder);

/// Whether a folder is a checkpoint, also one that is half written, half removed or damaged: its trainer.json says so,
/// or it is marked, or it holds nothing but what a checkpoint does. A link to one counts.
bool is_own(const std::filesystem::path& checkpoint);
/// Whether BEST is the program's.
bool is_best_file(const std::string& path);
/// For the name step_N that a new checkpoint is to have: nothing else has it. \throws DataError
void require_own_or_free(const std::filesystem::path& checkpoint);

/// Removes the files of a checkpoint and its folder. The marker goes first, so that the remaining files are not taken
/// for a checkpoint. Files that are not the checkpoint's stay where they are, and links.
void remove_checkpoint(const std::filesystem::path& checkpoint);
/// Removes a checkpoint under its name. Unless something in it is not its own, it has another name first: a reader
/// finds a whole checkpoint or none.
void retire(const std::filesystem::path& checkpoint);
/// Moves what is not the checkpoint's from the folder that had its name to the one that has it now.
void keep_foreign(const std::filesystem::path& before, const std::filesystem::path& now);
/// Whether a process that was killed has left it in the folder of the checkpoints.
bool is_leftover(const std::filesystem::path& path);
/// Removes what a process that was killed has left in the folder of the checkpoints.
void remove_leftovers(const std::filesystem::path& folder);

/// Errors of the file system as the user should see them.
template <class Body>
void with_file_errors(const std::string& what, Body&& body) {
  try {
    body();
  } catch (const std::filesystem::filesystem_error& error) {
    throw DataError(what, error.code().message());
  }
}

}  // namespace multicard::checkpoint_folder
