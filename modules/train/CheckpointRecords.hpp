#pragma once
/// \file The records that belong to checkpoints: OUTPUT/records/.

#include <cstdint>
#include <string>

namespace multicard {

/// OUTPUT/records
std::string records_folder(const std::string& output);
/// Removes the records of all checkpoints. Whatever else is in their folder stays.
void remove_records(const std::string& output);
/// \throws UsageError when the folder of the records, or a file that has the name of one, is not the program's
/// (io/OwnFiles.hpp)
void require_own_records(const std::string& output);
/// The records file that belongs to the checkpoint after `step` updates.
std::string records_file(const std::string& output, std::int64_t step);
/// Removes records whose checkpoint is gone, and files that a killed run has left. What the program did not write
/// stays, and so do records whose checkpoint a failing disk does not show.
void remove_stale_records(const std::string& output);

}  // namespace multicard
