#pragma once
/// \file How the folder of a checkpoint is named and marked; for modules/state only.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace multicard::checkpoint_folder {

/// Of trainer.json. Since 2 COMPLETE holds its SHA-256.
inline constexpr int kSchemaVersion = 2;
inline constexpr const char* kMarker = "COMPLETE";

/// "step_00000400"
std::filesystem::path named(std::int64_t step);

/// The complete checkpoints in `folder`, by name.
std::vector<std::filesystem::path> complete_ones(const std::filesystem::path& folder);

/// The same however the folder is written: relative, with a slash at its end.
std::string absolute_name(const std::string& folder);

}  // namespace multicard::checkpoint_folder
