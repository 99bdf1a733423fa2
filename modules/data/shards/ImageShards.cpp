#include "data/shards/ImageShards.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "base/Log.hpp"
#include "comm/Agreement.hpp"
#include "data/shards/ClassNames.hpp"
#include "data/shards/ScanBroadcast.hpp"
#include "data/shards/ShardNames.hpp"

namespace multicard {

namespace {

/// Bytes between two wanted rows that are read and thrown away because another call would take longer.
constexpr std::int64_t kReadThroughBytes = 64 << 10;

void check_labels(const std::string& path, std::span<const std::int32_t> labels, std::size_t num_classes) {
  for (std::size_t row = 0; row < labels.size(); ++row)
    if (labels[row] < 0 || static_cast<std::size_t>(labels[row]) >= num_classes)
      throw DataError(fmt::format("{}: the label of row {} is {}", path, row, labels[row]),
                      fmt::format("there are {} classes", num_classes));
}

std::string shape_text(const ImageSetInfo& info) {
  return fmt::format("{} x {} x {}", info.height, info.width, info.channels);
}

/// Weighs mean and mean square by rows. Pooled mean and variance of two groups with weights 1 - w and w (Chan, Golub
/// and LeVeque 1983): the variance within, and w (1 - w) d^2 for the difference d of the means. Equal deviations stay
/// as they are to the last bit: sqrt(s^2) need not be s, and the numbers are compared when a run is resumed.
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

void apply_limit(ImageSetScan& set, std::int64_t limit) {
  ImageSetInfo& info = set.info;
  info.num_rows = std::min(info.num_rows, limit);
  info.num_bytes = info.num_rows * info.height * info.width * info.channels;
  set.labels.resize(static_cast<std::size_t>(info.num_rows));
}

}  // namespace

std::shared_ptr<const ImageSetScan> broadcast(const std::shared_ptr<const ImageSetScan>& scan,
                                              const Communicator& communicator, int root) {
  const auto whole = scan ? std::make_shared<ImageSetScan>(*scan) : std::make_shared<ImageSetScan>();
  const ScanBroadcast give(communicator, root);
  for (std::int64_t* number : {&whole->info.num_rows, &whole->info.height, &whole->info.width, &whole->info.channels,
                               &whole->info.num_shards, &whole->info.num_bytes})
    give(*number);
  give(whole->info.class_names);
  give(whole->info.mean);
  give(whole->info.std);
  give(whole->files);
  give(whole->rows_of_files);
  give(whole->labels);
  return scan ? scan : whole;
}

ImageShards::ImageShards(const std::string& pattern, const Communicator& communicator,
                         std::optional<std::int64_t> limit, const ShardReading& reading)
    : reading_(reading) {
  const auto found = std::make_shared<ImageSetScan>();
  scan_ = found;
  found->files = find_shards(pattern, communicator);
  ShardSetCheck check(pattern, "images");
  for (const std::string& path : found->files)
    scan_shard(path, communicator, *found, check);
  if (info().num_rows == 0) throw DataError(fmt::format("{} holds no images", pattern)).on_all_ranks();
  check.finish();
  check.require_labels(found->labels);
  if (limit) apply_limit(*found, *limit);
  make_cache(communicator);
}

ImageShards::ImageShards(std::shared_ptr<const ImageSetScan> scan, const Communicator& communicator,
                         const ShardReading& reading)
    : reading_(reading), scan_(std::move(scan)) {
  std::int64_t first_row = 0;
  for (std::size_t i = 0; i < files().size(); ++i) {
    const std::int64_t num_rows = scan_->rows_of_files[i];
    shards_.push_back({ShardFile(files()[i], communicator, reading_.method, num_rows, info()), first_row});
    first_row += num_rows;
  }
  make_cache(communicator);
}

void ImageShards::make_cache(const Communicator& communicator) {
  if (reading_.keep == KeepRows::in_memory)
    cache_ = std::make_unique<RowCache>(info().num_rows, bytes_per_row(), communicator);
}

// Root alone reads the labels and broadcasts them. What is thrown inside agreed() may come from one rank; the reads of
// the first and last image outside are done by all ranks alike.
void ImageShards::scan_shard(const std::string& path, const Communicator& communicator, ImageSetScan& set,
                             ShardSetCheck& check) {
  ShardFile file(path, communicator, reading_.method);
  const ImageSetInfo& found = file.info();
  std::vector<std::int32_t> mine(static_cast<std::size_t>(found.num_rows));
  agreed(communicator, [&] {
    check_fits_first(path, found);
    check.add(path, file.membership(), found.num_rows);
    if (communicator.is_root()) mine = file.read_labels();
    check_labels(path, mine, found.class_names.size());
  });
  communicator.broadcast(std::span(mine));
  if (!file.membership().shard && found.num_rows > 0) {  // of other programs: nothing in it says which part it is
    const auto size = static_cast<std::size_t>(found.height * found.width * found.channels);
    std::vector<std::uint8_t> ends(2 * size);
    file.read(0, 1, std::span(ends).first(size));
    file.read(found.num_rows - 1, 1, std::span(ends).last(size));
    agreed(communicator, [&] { check.add_rows(path, mine, ends); });
  }
  const std::int64_t first_row = info().num_rows;
  if (shards_.empty()) {
    set.info = found;
  } else {
    merge_statistics(set.info, found);
    set.info.num_rows += found.num_rows;
    set.info.num_bytes += found.num_bytes;
    ++set.info.num_shards;
  }
  set.rows_of_files.push_back(found.num_rows);
  set.labels.insert(set.labels.end(), mine.begin(), mine.end());
  shards_.push_back({std::move(file), first_row});
}

void ImageShards::check_fits_first(const std::string& path, const ImageSetInfo& found) const {
  if (shards_.empty()) return;
  if (shape_text(found) != shape_text(info()))
    throw DataError(fmt::format("{} and {} do not match", files().front(), path),
                    fmt::format("their images are {} and {}", shape_text(info()), shape_text(found)),
                    "Prepare them with the same --size.");
  if (found.class_names != info().class_names)
    throw DataError(fmt::format("{} and {} do not match", files().front(), path), "their class names differ",
                    "Prepare them together.");
}

void ImageShards::take_classes(const std::vector<std::string>& names) {
  if (names == info().class_names) return;
  const auto mapped = std::make_shared<ImageSetScan>(*scan_);
  map_labels(mapped->labels, info().class_names, names, files().front());
  log_warning(fmt::format("{} has other classes than the training, or in another order: labels are mapped by name",
                          files().front()));
  mapped->info.class_names = names;
  scan_ = mapped;
}

std::size_t ImageShards::shard_of(std::int64_t row) const {
  const auto after = std::upper_bound(shards_.begin(), shards_.end(), row,
                                      [](std::int64_t wanted, const Shard& shard) { return wanted < shard.first_row; });
  return static_cast<std::size_t>(after - shards_.begin()) - 1;
}

// Rows come in random order within a batch. Sorted by place in the files, near ones are read with one call, and each is
// then copied to the position that was asked for.
void ImageShards::read_rows(std::span<const std::int64_t> rows, std::span<std::uint8_t> pixels) const {
  const auto row_bytes = static_cast<std::size_t>(bytes_per_row());
  if (pixels.size() != rows.size() * row_bytes) throw std::logic_error("read_rows: the space does not fit the rows");
  const auto place = [&](std::size_t position) { return pixels.subspan(position * row_bytes, row_bytes); };
  std::vector<std::size_t> order;
  for (std::size_t position = 0; position < rows.size(); ++position) {
    if (rows[position] < 0 || rows[position] >= info().num_rows) throw std::logic_error("read_rows: no such row");
    if (!cache_ || !cache_->get(rows[position], place(position))) order.push_back(position);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return rows[a] < rows[b]; });
  read_files(rows, order, pixels);
  if (!cache_) return;
  for (const std::size_t position : order)
    cache_->put(rows[position], place(position));
}

void ImageShards::read_files(std::span<const std::int64_t> rows, Positions order,
                             std::span<std::uint8_t> pixels) const {
  for (std::size_t first = 0; first < order.size();) {
    const Shard& shard = shards_[shard_of(rows[order[first]])];
    const std::int64_t end_row = shard.first_row + shard.file.info().num_rows;
    std::size_t last = first + 1;
    const auto joins = [&](std::size_t next) {
      const std::int64_t gap = rows[order[next]] - rows[order[next - 1]] - 1;
      return rows[order[next]] < end_row && gap * bytes_per_row() <= kReadThroughBytes;
    };
    while (last < order.size() && joins(last))
      ++last;
    read_run(shard, rows, order.subspan(first, last - first), pixels);
    first = last;
  }
}

void ImageShards::read_run(const Shard& shard, std::span<const std::int64_t> rows, Positions positions,
                           std::span<std::uint8_t> pixels) const {
  const auto row_bytes = static_cast<std::size_t>(bytes_per_row());
  const std::int64_t first_row = rows[positions.front()];
  const auto num_rows = static_cast<std::size_t>(rows[positions.back()] - first_row + 1);
  // Only consecutive rows that also go to consecutive places are read straight into the batch.
  bool in_order = num_rows == positions.size();
  for (std::size_t i = 0; in_order && i < positions.size(); ++i)
    in_order = positions[i] == positions[0] + i && rows[positions[i]] == first_row + static_cast<std::int64_t>(i);
  std::vector<std::uint8_t> buffer(in_order ? 0 : num_rows * row_bytes);
  const std::span<std::uint8_t> target =
      in_order ? pixels.subspan(positions[0] * row_bytes, num_rows * row_bytes) : std::span(buffer);
  shard.file.read(first_row - shard.first_row, static_cast<std::int64_t>(num_rows), target);
  if (in_order) return;
  for (const std::size_t position : positions)
    std::copy_n(buffer.data() + static_cast<std::size_t>(rows[position] - first_row) * row_bytes, row_bytes,
                pixels.data() + position * row_bytes);
}

}  // namespace multicard
