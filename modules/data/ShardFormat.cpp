#include "data/ShardFormat.hpp"

#include <cerrno>
#include <fstream>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "data/ImageShards.hpp"

namespace multicard {

ShardHeader read_shard_header(const Hdf5File& file) {
  const std::string& path = file.path();
  if (!file.has_attribute("/", "format") || file.attribute<std::string>("/", "format") != kImageShardFormat)
    throw DataError(fmt::format("{} is not an image shard", path),
                    fmt::format("its attribute format is not {}", kImageShardFormat),
                    "Make shards with multicard prepare images.")
        .on_all_ranks();
  const auto schema = file.attribute<std::int64_t>("/", "schema_version");
  if (schema > kImageShardSchema)
    throw DataError(fmt::format("{} was written by a newer multicard", path),
                    fmt::format("its schema_version is {}, this program knows {}", schema, kImageShardSchema))
        .on_all_ranks();
  const Extents dims = file.dims("/images");
  if (dims.size() != 4 || file.dims("/labels") != Extents{dims[0]})
    throw DataError(fmt::format("{} is damaged", path), "its images and labels do not fit each other").on_all_ranks();
  ShardHeader header;
  header.num_rows = static_cast<std::int64_t>(dims[0]);
  header.height = static_cast<std::int64_t>(dims[1]);
  header.width = static_cast<std::int64_t>(dims[2]);
  header.channels = static_cast<std::int64_t>(dims[3]);
  header.class_names = file.attribute<std::vector<std::string>>("/", "class_names");
  header.mean = file.attribute<std::vector<double>>("/", "mean");
  header.std = file.attribute<std::vector<double>>("/", "std");
  return header;
}

void check_same_kind(const ShardHeader& header, const ImageSetInfo& info, const std::string& path,
                     const std::string& first_path) {
  const bool same_size = header.height == info.height && header.width == info.width && header.channels == info.channels;
  if (!same_size || header.class_names != info.class_names)
    throw DataError(fmt::format("shards {} and {} do not belong together", first_path, path),
                    same_size ? "their classes differ"
                              : fmt::format("their images are {}x{}x{} and {}x{}x{}", info.height, info.width,
                                            info.channels, header.height, header.width, header.channels),
                    "Name the shards of one set.")
        .on_all_ranks();
}

void check_labels(const std::vector<std::int32_t>& labels, const ImageSetInfo& info, const std::string& pattern) {
  const auto num_classes = static_cast<std::int32_t>(info.class_names.size());
  for (std::size_t row = 0; row < labels.size(); ++row)
    if (labels[row] < 0 || labels[row] >= num_classes)
      throw DataError(fmt::format("row {} of {} has label {}", row, pattern, labels[row]),
                      fmt::format("there are {} classes", num_classes), "Prepare the shards again.");
}

void check_readable(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw DataError(fmt::format("{} cannot be opened", path), system_error_text(errno));
}

}  // namespace multicard
