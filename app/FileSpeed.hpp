#pragma once
/// \file How fast a folder's file system is, by plain calls and through the program's HDF5 files.

#include <cstdint>
#include <optional>
#include <string>

#include "comm/Communicator.hpp"

namespace multicard {

/// GB/s over all ranks, which write or read at the same time, each its own part in order; the slowest counts.
struct FileSpeed {
  double write = 0;                 ///< until all of it is on the disk
  std::optional<double> read_cold;  ///< from the disk; none where the file stays in the system's page cache
  double read_warm = 0;             ///< from the page cache
};

struct FileSystemMeasure {
  std::string folder;                   ///< absolute
  std::int64_t bytes = 0;               ///< of all ranks together, in each of the tests
  FileSpeed plain;                      ///< write and read of a file for each rank: the ceiling
  FileSpeed independent;                ///< HDF5, one file of all ranks
  std::optional<FileSpeed> collective;  ///< HDF5, the same; none on one rank, where transfers are independent
};

/// Collective. Writes and reads temporary files in `folder` ("": the working folder), which are gone afterwards: 16 to
/// 64 MiB a rank and test, by how long the first 16 MiB take, and less than a quarter of the free space.
/// \throws DataError on all ranks where the folder cannot be written or has no room
FileSystemMeasure measure_file_system(const std::string& folder, const Communicator& world);

}  // namespace multicard
