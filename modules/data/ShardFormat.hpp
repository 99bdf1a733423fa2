#pragma once
/// \file The attributes of an image shard, shared by its writer and its reader (docs/data.md).

#include <cstdint>
#include <string>
#include <vector>

#include "io/Hdf5.hpp"

namespace multicard {

struct ImageSetInfo;

inline constexpr const char* kImageShardFormat = "multicard-images";
inline constexpr std::int64_t kImageShardSchema = 1;

/// What the root of a shard says. Mean and std are those of the whole set, not of the shard.
struct ShardHeader {
  std::int64_t num_rows = 0, height = 0, width = 0, channels = 0;
  std::vector<std::string> class_names;
  std::vector<double> mean, std;
};

/// \throws DataError naming the file when it is no image shard, or one of a newer schema.
ShardHeader read_shard_header(const Hdf5File& file);

/// \throws DataError naming both files when sizes, classes or statistics differ.
void check_same_kind(const ShardHeader& header, const ImageSetInfo& info, const std::string& path,
                     const std::string& first_path);

/// \throws DataError for a label outside the classes.
void check_labels(const std::vector<std::int32_t>& labels, const ImageSetInfo& info, const std::string& pattern);

/// \throws DataError naming the file and why it cannot be opened.
void check_readable(const std::string& path);

}  // namespace multicard
