#pragma once
/// \file Image shards as one set of rows.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/Communicator.hpp"
#include "io/Hdf5.hpp"

namespace multicard {

struct ImageSetInfo {
  std::int64_t num_rows = 0;
  std::int64_t height = 0, width = 0, channels = 0;
  std::vector<std::string> class_names;  ///< in label order
  std::vector<double> mean, std;         ///< per channel, of pixel / 255; over all shards, weighted by their rows
  std::int64_t num_shards = 0;
  std::int64_t num_bytes = 0;  ///< of the pixels of all rows
};

/// The rows of one or more image shards, in the order of the (sorted) files. Labels are held in memory, pixels are read
/// on demand.
class ImageShards {
 public:
  /// Collective. Opens the shards that a path or glob names on all ranks of `communicator`, checks that they belong
  /// together and reads the labels. `limit` keeps the first rows only.
  /// \throws DataError on all ranks: nothing found, not an image shard, shards that do not fit each other.
  ImageShards(const std::string& pattern, const Communicator& communicator, std::optional<std::int64_t> limit = {});
  /// Collective over the ranks that opened the shards, as the shards are closed.
  ~ImageShards() = default;
  ImageShards(ImageShards&&) noexcept = default;
  ImageShards& operator=(ImageShards&&) noexcept = default;

  const ImageSetInfo& info() const { return info_; }
  const std::vector<std::string>& files() const { return files_; }
  std::int64_t bytes_per_row() const { return info_.height * info_.width * info_.channels; }
  std::span<const std::int32_t> labels() const { return labels_; }

  /// Reads the pixels of `rows` (any order, repeats allowed), each height x width x channels bytes, in the order given.
  /// Rows that stand near each other are read in one piece. Not collective; any thread.
  /// \throws DataError also when a shard has been cut short since it was opened.
  void read_rows(std::span<const std::int64_t> rows, std::span<std::uint8_t> pixels) const;

 private:
  struct Shard {
    Hdf5File file;
    Hdf5Dataset images;
    std::int64_t first_row;
    std::int64_t num_rows;
    std::uint64_t file_bytes;  ///< when it was opened
  };
  void open_shard(const std::string& path, const Communicator& communicator);
  void check_fits_first(const std::string& path, const ImageSetInfo& found) const;
  std::size_t shard_of(std::int64_t row) const;
  void read_run(const Shard& shard, std::span<const std::int64_t> rows, std::span<const std::size_t> positions,
                std::span<std::uint8_t> pixels) const;
  void check_whole(const Shard& shard) const;
  void apply_limit(std::int64_t limit);

  std::vector<std::string> files_;
  std::vector<Shard> shards_;
  std::vector<std::int32_t> labels_;
  ImageSetInfo info_;
};

}  // namespace multicard
