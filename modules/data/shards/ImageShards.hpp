#pragma once
/// \file Image shards as one set of rows.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/Communicator.hpp"
#include "data/shards/RowCache.hpp"
#include "data/shards/ShardFile.hpp"
#include "data/shards/ShardReading.hpp"

namespace multicard {

/// What opening image shards finds. With it the same rows can be opened again, on any ranks, without looking for them.
struct ImageSetScan {
  ImageSetInfo info;
  std::vector<std::string> files;
  std::vector<std::int64_t> rows_of_files;
  std::vector<std::int32_t> labels;
};

/// Collective. Root's scan, which is null on ranks that do not have it.
std::shared_ptr<const ImageSetScan> broadcast(const std::shared_ptr<const ImageSetScan>& scan,
                                              const Communicator& communicator, int root);

/// The rows of one or more image shards, in the order of the (sorted) files. Labels are held in memory, pixels are read
/// on demand.
class ImageShards {
 public:
  /// Collective. Opens the shards that a path or glob names on all ranks of `communicator`, checks that they belong
  /// together and reads the labels. `limit` keeps the first rows only.
  /// \throws DataError on all ranks: nothing found, not an image shard, shards that do not fit each other; chunked or
  /// compressed images with ReadMethod::pread. EnvironmentError as RowCache.
  ImageShards(const std::string& pattern, const Communicator& communicator, std::optional<std::int64_t> limit = {},
              const ShardReading& reading = {});
  /// Collective. Opens shards of which everything is known.
  /// \throws DataError on all ranks where a file is gone or has other images; EnvironmentError as RowCache.
  ImageShards(std::shared_ptr<const ImageSetScan> scan, const Communicator& communicator, const ShardReading& reading);
  /// Collective over the ranks that opened the shards, as the shards are closed.
  ~ImageShards() = default;
  ImageShards(ImageShards&&) noexcept = default;
  ImageShards& operator=(ImageShards&&) noexcept = default;

  const ImageSetInfo& info() const { return scan_->info; }
  const std::vector<std::string>& files() const { return scan_->files; }
  /// With the limit.
  const std::shared_ptr<const ImageSetScan>& scan() const { return scan_; }
  std::int64_t bytes_per_row() const { return info().height * info().width * info().channels; }
  std::span<const std::int32_t> labels() const { return scan_->labels; }

  /// Gives classes these names and this order: labels are mapped by name, which a warning says. The same on all ranks.
  /// \throws DataError on all ranks where an image is of another class
  void take_classes(const std::vector<std::string>& names);

  /// Whether several threads read faster than one.
  bool reads_in_parallel() const { return reading_.method == ReadMethod::pread; }
  /// This rank's part of the memory that kept rows take once all have been read; 0 when they are not kept.
  std::int64_t kept_bytes() const { return cache_ ? cache_->bytes_of_rank(info().num_rows) : 0; }

  /// Reads the pixels of `rows` (any order, repeats allowed), each height x width x channels bytes, in the order given.
  /// Rows that stand near each other are read in one piece. Not collective; any thread.
  /// \throws DataError also when a shard has been cut short since it was opened.
  void read_rows(std::span<const std::int64_t> rows, std::span<std::uint8_t> pixels) const;

 private:
  struct Shard {
    ShardFile file;
    std::int64_t first_row;
  };
  using Positions = std::span<const std::size_t>;  ///< places in a list of rows

  void scan_shard(const std::string& path, const Communicator& communicator, ImageSetScan& set, ShardSetCheck& check);
  void make_cache(const Communicator& communicator);
  void check_fits_first(const std::string& path, const ImageSetInfo& found) const;
  std::size_t shard_of(std::int64_t row) const;
  /// Fills the places `order` (by rising row) from the files.
  void read_files(std::span<const std::int64_t> rows, Positions order, std::span<std::uint8_t> pixels) const;
  void read_run(const Shard& shard, std::span<const std::int64_t> rows, Positions positions,
                std::span<std::uint8_t> pixels) const;

  ShardReading reading_;
  std::shared_ptr<const ImageSetScan> scan_;
  std::vector<Shard> shards_;
  std::unique_ptr<RowCache> cache_;  ///< null: rows are not kept
};

}  // namespace multicard
