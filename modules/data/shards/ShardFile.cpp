#include "data/shards/ShardFile.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Shown.hpp"
#include "base/Utf8.hpp"
#include "comm/Agreement.hpp"
#include "data/shards/ShardFormat.hpp"

namespace multicard {

namespace {

/// Pixels become (value / 255 - mean) / std.
void check_statistics(const std::string& path, const char* name, const std::vector<double>& values) {
  for (std::size_t channel = 0; channel < values.size(); ++channel) {
    const double value = values[channel];
    if (value >= 0 && value <= 1) continue;
    throw DataError(fmt::format("{}: its attribute {} is {} for channel {}", path, name, value, channel),
                    "images cannot be normalised with it: it is of pixel/255, from 0 to 1",
                    value > 1 ? "Divide those of 0..255 by 255." : "Prepare it again.");
  }
}

ImageSetInfo read_info(const Hdf5File& file, const Hdf5Dataset& images, const Hdf5Dataset& labels) {
  const Extents& dims = images.dims();
  if (images.type() != ElementType::uint8 || dims.size() != 4 || labels.type() != ElementType::int32 ||
      labels.dims() != Extents{dims[0]})
    throw DataError(fmt::format("{} is not a complete image shard", file.path()),
                    "/images must be uint8 [N, H, W, C] and /labels int32 [N]", "Prepare it again.");
  ImageSetInfo info;
  if (std::any_of(dims.begin() + 1, dims.end(), [](std::uint64_t extent) { return extent == 0; }))
    throw DataError(fmt::format("{} is not a complete image shard", file.path()),
                    fmt::format("/images has no pixels: {} x {} x {}", dims[1], dims[2], dims[3]), "Prepare it again.");
  info.num_rows = static_cast<std::int64_t>(dims[0]);
  info.height = static_cast<std::int64_t>(dims[1]);
  info.width = static_cast<std::int64_t>(dims[2]);
  info.channels = static_cast<std::int64_t>(dims[3]);
  info.num_shards = 1;
  info.num_bytes = static_cast<std::int64_t>(images.num_elements());
  info.class_names = file.attribute<std::vector<std::string>>("/", "class_names");
  for (std::string& name : info.class_names)
    if (!is_valid_utf8(name)) name = shown(name);
  info.mean = file.attribute<std::vector<double>>("/", "mean");
  info.std = file.attribute<std::vector<double>>("/", "std");
  if (info.mean.size() != dims[3] || info.std.size() != dims[3])
    throw DataError(fmt::format("{}: mean and std do not have {} values each", file.path(), dims[3]));
  check_statistics(file.path(), "mean", info.mean);
  check_statistics(file.path(), "std", info.std);
  return info;
}

}  // namespace

ShardFile::ShardFile(const std::string& path, const Communicator& communicator, ReadMethod method)
    : file_(open_shard(path, ShardKind::image, communicator)) {
  // All ranks see the same file, so they fail together.
  agreed(communicator, [&] {
    require_format(file_, ShardKind::image, shard_format::kFormat, shard_format::kSchemaVersion);
    const Hdf5Dataset images = file_.open_dataset(shard_format::kImages);
    labels_ = file_.open_dataset(shard_format::kLabels);
    info_ = read_info(file_, images, *labels_);
    membership_ = membership_of(file_, ShardKind::image);
    labels_->require_memory();
    images_.emplace(path, images, method);
  });
}

// The second opening, after a move: only what could have changed under the running task is compared, with the scan.
ShardFile::ShardFile(const std::string& path, const Communicator& communicator, ReadMethod method,
                     std::int64_t num_rows, const ImageSetInfo& set)
    : file_(open_shard(path, ShardKind::image, communicator)) {
  agreed(communicator, [&] {
    const Hdf5Dataset images = file_.open_dataset(shard_format::kImages);
    const Extents expected{static_cast<std::uint64_t>(num_rows), static_cast<std::uint64_t>(set.height),
                           static_cast<std::uint64_t>(set.width), static_cast<std::uint64_t>(set.channels)};
    require_unchanged(path, images, ElementType::uint8, expected);
    info_.num_rows = num_rows;
    info_.height = set.height;
    info_.width = set.width;
    info_.channels = set.channels;
    images_.emplace(path, images, method);
  });
}

std::vector<std::int32_t> ShardFile::read_labels() const {
  return labels_->read_all<std::int32_t>();
}

void ShardFile::read(std::int64_t first, std::int64_t count, std::span<std::uint8_t> pixels) const {
  images_->read(first, count, pixels);
}

}  // namespace multicard
