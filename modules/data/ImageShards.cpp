#include "data/ImageShards.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "data/ShardFormat.hpp"
#include "io/Bytes.hpp"

namespace multicard {

namespace {

/// Bytes between two wanted rows that are read and thrown away because another call would take longer.
constexpr std::int64_t kReadThroughBytes = 64 << 10;

/// An earlier version of a format would be read here; a newer one cannot.
void check_format(const Hdf5File& file) {
  if (!file.has_attribute("/", "format") || file.attribute<std::string>("/", "format") != shard_format::kFormat)
    throw DataError(fmt::format("{} is not an image shard", file.path()),
                    fmt::format("its attribute format is not {}", shard_format::kFormat),
                    "Make shards with multicard prepare images.");
  const auto version = file.attribute<std::int64_t>("/", "schema_version");
  if (version != shard_format::kSchemaVersion)
    throw DataError(
        fmt::format("{} cannot be read", file.path()),
        fmt::format("its schema_version is {}, this program knows {}", version, shard_format::kSchemaVersion),
        "Prepare it again with this version.");
}

ImageSetInfo read_info(const Hdf5File& file, const Hdf5Dataset& images, const Hdf5Dataset& labels) {
  const Extents& dims = images.dims();
  if (images.type() != ElementType::uint8 || dims.size() != 4 || labels.type() != ElementType::int32 ||
      labels.dims() != Extents{dims[0]})
    throw DataError(fmt::format("{} is not a whole image shard", file.path()),
                    "/images must be uint8 [N, H, W, C] and /labels int32 [N]", "Prepare it again.");
  ImageSetInfo info;
  info.num_rows = static_cast<std::int64_t>(dims[0]);
  info.height = static_cast<std::int64_t>(dims[1]);
  info.width = static_cast<std::int64_t>(dims[2]);
  info.channels = static_cast<std::int64_t>(dims[3]);
  info.class_names = file.attribute<std::vector<std::string>>("/", "class_names");
  info.mean = file.attribute<std::vector<double>>("/", "mean");
  info.std = file.attribute<std::vector<double>>("/", "std");
  if (info.mean.size() != dims[3] || info.std.size() != dims[3])
    throw DataError(fmt::format("{}: mean and std do not have {} values each", file.path(), dims[3]));
  return info;
}

void check_labels(const std::string& path, std::span<const std::int32_t> labels, std::size_t num_classes) {
  for (std::size_t row = 0; row < labels.size(); ++row)
    if (labels[row] < 0 || static_cast<std::size_t>(labels[row]) >= num_classes)
      throw DataError(fmt::format("{}: the label of row {} is {}", path, row, labels[row]),
                      fmt::format("there are {} classes", num_classes));
}

std::string shape_text(const ImageSetInfo& info) {
  return fmt::format("{} x {} x {}", info.height, info.width, info.channels);
}

/// Weighs mean and mean square by rows.
void merge_statistics(ImageSetInfo& all, const ImageSetInfo& shard) {
  const double total = static_cast<double>(all.num_rows + shard.num_rows);
  const double weight = total == 0 ? 0 : static_cast<double>(shard.num_rows) / total;
  for (std::size_t c = 0; c < all.mean.size(); ++c) {
    const double difference = shard.mean[c] - all.mean[c];
    const double variance = (1 - weight) * all.std[c] * all.std[c] + weight * shard.std[c] * shard.std[c] +
                            weight * (1 - weight) * difference * difference;
    all.mean[c] += weight * difference;
    if (all.std[c] != shard.std[c] || difference != 0) all.std[c] = std::sqrt(variance);
  }
}

}  // namespace

ImageShards::ImageShards(const std::string& pattern, const Communicator& communicator,
                         std::optional<std::int64_t> limit) {
  const std::string found =
      agreed(communicator, [&] { return communicator.is_root() ? join(expand_glob(pattern), "\n") : std::string(); });
  files_ = split(communicator.broadcast(found), '\n');
  for (const std::string& path : files_)
    open_shard(path, communicator);
  if (info_.num_rows == 0) throw DataError(fmt::format("{} holds no images", pattern)).on_all_ranks();
  if (limit) apply_limit(*limit);
}

void ImageShards::open_shard(const std::string& path, const Communicator& communicator) {
  Hdf5File file = Hdf5File::open_read(path, communicator);
  std::optional<Hdf5Dataset> images, labels;
  // All ranks see the same file, so they fail together.
  const ImageSetInfo found = agreed(communicator, [&] {
    check_format(file);
    images = file.open_dataset(shard_format::kImages);
    labels = file.open_dataset(shard_format::kLabels);
    ImageSetInfo info = read_info(file, *images, *labels);
    check_fits_first(path, info);
    return info;
  });
  std::vector<std::int32_t> mine(static_cast<std::size_t>(found.num_rows));
  const std::uint64_t bytes = agreed(communicator, [&] {
    if (communicator.is_root()) mine = labels->read_all<std::int32_t>();
    check_labels(path, mine, found.class_names.size());
    return static_cast<std::uint64_t>(std::filesystem::file_size(path));
  });
  communicator.broadcast(std::span(mine));
  const std::int64_t first_row = info_.num_rows;
  if (shards_.empty()) {
    info_ = found;
    info_.num_rows = 0;
  } else {
    merge_statistics(info_, found);
  }
  info_.num_rows += found.num_rows;
  info_.num_bytes += found.num_rows * bytes_per_row();
  ++info_.num_shards;
  labels_.insert(labels_.end(), mine.begin(), mine.end());
  shards_.push_back({std::move(file), std::move(*images), first_row, found.num_rows, bytes});
}

void ImageShards::check_fits_first(const std::string& path, const ImageSetInfo& found) const {
  if (shards_.empty()) return;
  if (shape_text(found) != shape_text(info_))
    throw DataError(fmt::format("{} and {} do not fit each other", files_.front(), path),
                    fmt::format("their images are {} and {}", shape_text(info_), shape_text(found)),
                    "Prepare them with the same --size.");
  if (found.class_names != info_.class_names)
    throw DataError(fmt::format("{} and {} do not fit each other", files_.front(), path), "their class names differ",
                    "Prepare them together.");
}

void ImageShards::apply_limit(std::int64_t limit) {
  info_.num_rows = std::min(info_.num_rows, limit);
  info_.num_bytes = info_.num_rows * bytes_per_row();
  labels_.resize(static_cast<std::size_t>(info_.num_rows));
}

std::size_t ImageShards::shard_of(std::int64_t row) const {
  const auto after = std::upper_bound(shards_.begin(), shards_.end(), row,
                                      [](std::int64_t wanted, const Shard& shard) { return wanted < shard.first_row; });
  return static_cast<std::size_t>(after - shards_.begin()) - 1;
}

void ImageShards::read_rows(std::span<const std::int64_t> rows, std::span<std::uint8_t> pixels) const {
  const std::int64_t row_bytes = bytes_per_row();
  if (static_cast<std::int64_t>(pixels.size()) != static_cast<std::int64_t>(rows.size()) * row_bytes)
    throw std::logic_error("read_rows: the space does not fit the rows");
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return rows[a] < rows[b]; });
  if (!rows.empty() && (rows[order.front()] < 0 || rows[order.back()] >= info_.num_rows))
    throw std::logic_error("read_rows: no such row");
  for (std::size_t first = 0; first < order.size();) {
    const std::size_t shard = shard_of(rows[order[first]]);
    const std::int64_t end_row = shards_[shard].first_row + shards_[shard].num_rows;
    std::size_t last = first + 1;
    const auto joins = [&](std::size_t next) {
      const std::int64_t gap = rows[order[next]] - rows[order[next - 1]] - 1;
      return rows[order[next]] < end_row && gap * row_bytes <= kReadThroughBytes;
    };
    while (last < order.size() && joins(last))
      ++last;
    read_run(shards_[shard], rows, std::span(order).subspan(first, last - first), pixels);
    first = last;
  }
}

void ImageShards::read_run(const Shard& shard, std::span<const std::int64_t> rows,
                           std::span<const std::size_t> positions, std::span<std::uint8_t> pixels) const {
  const auto row_bytes = static_cast<std::size_t>(bytes_per_row());
  const std::int64_t first_row = rows[positions.front()];
  const auto num_rows = static_cast<std::size_t>(rows[positions.back()] - first_row + 1);
  bool in_order = num_rows == positions.size();
  for (std::size_t i = 0; in_order && i < positions.size(); ++i)
    in_order = positions[i] == positions[0] + i && rows[positions[i]] == first_row + static_cast<std::int64_t>(i);
  std::vector<std::uint8_t> buffer(in_order ? 0 : num_rows * row_bytes);
  const std::span<std::uint8_t> target =
      in_order ? pixels.subspan(positions[0] * row_bytes, num_rows * row_bytes) : std::span(buffer);
  const auto extent = [](auto value) { return static_cast<std::uint64_t>(value); };
  shard.images.read<std::uint8_t>({extent(first_row - shard.first_row), 0, 0, 0},
                                  {num_rows, extent(info_.height), extent(info_.width), extent(info_.channels)},
                                  target);
  check_whole(shard);
  if (in_order) return;
  for (const std::size_t position : positions)
    std::copy_n(buffer.data() + static_cast<std::size_t>(rows[position] - first_row) * row_bytes, row_bytes,
                pixels.data() + position * row_bytes);
}

/// The library reads zeros beyond the end of a file.
void ImageShards::check_whole(const Shard& shard) const {
  std::error_code error;
  const std::uint64_t now = std::filesystem::file_size(shard.file.path(), error);
  if (!error && now < shard.file_bytes)
    throw DataError(fmt::format("{} has been cut short while it is read", shard.file.path()),
                    fmt::format("it had {} bytes and now has {}", shard.file_bytes, now), "Prepare it again.");
}

}  // namespace multicard
