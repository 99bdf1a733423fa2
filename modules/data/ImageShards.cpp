#include "data/ImageShards.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "data/ShardFormat.hpp"
#include "io/Bytes.hpp"

namespace multicard {

ImageShards::ImageShards(const std::string& pattern, const Communicator& communicator,
                         std::optional<std::int64_t> limit) {
  const std::vector<std::string> paths = agreed(communicator, [&] { return expand_glob(expand_path(pattern)); });
  for (const std::string& path : paths)
    add_shard(path, communicator);
  info_.num_shards = static_cast<int>(paths.size());
  if (limit) info_.num_rows = std::min(info_.num_rows, *limit);
  info_.num_bytes = info_.num_rows * info_.row_bytes();
  labels_.resize(static_cast<std::size_t>(info_.num_rows));
  agreed(communicator, [&] { check_labels(labels_, info_, pattern); });
}

void ImageShards::add_shard(const std::string& path, const Communicator& communicator) {
  agreed(communicator, [&] { check_readable(path); });
  Hdf5File file = Hdf5File::open_read(path, communicator);
  const ShardHeader header = read_shard_header(file);
  if (shards_.empty()) {
    info_.height = header.height;
    info_.width = header.width;
    info_.channels = header.channels;
    info_.class_names = header.class_names;
    info_.mean = header.mean;
    info_.std = header.std;
  } else {
    check_same_kind(header, info_, path, shards_.front().file.path());
  }
  Hdf5Dataset images = file.open_dataset("/images");
  const std::vector<std::int32_t> labels = file.read_values<std::int32_t>("/labels");
  labels_.insert(labels_.end(), labels.begin(), labels.end());
  shards_.push_back({std::move(file), std::move(images), info_.num_rows, header.num_rows});
  info_.num_rows += header.num_rows;
}

void ImageShards::read_rows(std::span<const std::int64_t> rows, std::span<std::uint8_t> bytes) const {
  const auto row_bytes = static_cast<std::size_t>(info_.row_bytes());
  const auto h = static_cast<std::uint64_t>(info_.height), w = static_cast<std::uint64_t>(info_.width),
             c = static_cast<std::uint64_t>(info_.channels);
  for (std::size_t from = 0; from < rows.size();) {
    const auto shard = std::prev(std::upper_bound(shards_.begin(), shards_.end(), rows[from],
                                                  [](std::int64_t row, const Shard& s) { return row < s.first_row; }));
    std::size_t to = from + 1;
    while (to < rows.size() && rows[to] == rows[to - 1] + 1 && rows[to] < shard->first_row + shard->num_rows)
      ++to;
    shard->images.read<std::uint8_t>({static_cast<std::uint64_t>(rows[from] - shard->first_row), 0, 0, 0},
                                     {to - from, h, w, c}, bytes.subspan(from * row_bytes, (to - from) * row_bytes));
    from = to;
  }
}

}  // namespace multicard
