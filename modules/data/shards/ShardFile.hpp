#pragma once
/// \file One image shard.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/Communicator.hpp"
#include "data/shards/ReadableDataset.hpp"
#include "data/shards/ShardMembership.hpp"
#include "io/Hdf5.hpp"

namespace multicard {

struct ImageSetInfo {
  std::int64_t num_rows = 0;
  std::int64_t height = 0, width = 0, channels = 0;
  std::vector<std::string> class_names;  ///< in label order; bytes that are not UTF-8 as \xHH
  std::vector<double> mean, std;         ///< per channel, of pixel / 255; over all shards, weighted by their rows
  std::int64_t num_shards = 0;
  std::int64_t num_bytes = 0;  ///< of the pixels of all rows
};

/// An open shard. Its end is collective, as the file is closed.
class ShardFile {
 public:
  /// Collective. \throws DataError on all ranks: not a whole image shard; chunked or compressed images with
  /// ReadMethod::pread.
  ShardFile(const std::string& path, const Communicator& communicator, ReadMethod method);
  /// Collective. A shard that has been looked at before, of `num_rows` images as in `set`: nothing but the place of its
  /// images is read. info() has their extents alone, and there are no labels.
  /// \throws DataError on all ranks where its images have other extents now
  ShardFile(const std::string& path, const Communicator& communicator, ReadMethod method, std::int64_t num_rows,
            const ImageSetInfo& set);
  const std::string& path() const { return file_.path(); }
  /// Of this shard alone.
  const ImageSetInfo& info() const { return info_; }
  const ShardMembership& membership() const { return membership_; }
  std::vector<std::int32_t> read_labels() const;
  /// Reads the pixels of the rows [first, first + count). Not collective; any thread.
  /// \throws DataError also when the file has been cut short since it was opened.
  void read(std::int64_t first, std::int64_t count, std::span<std::uint8_t> pixels) const;

 private:
  Hdf5File file_;
  std::optional<ReadableDataset> images_;
  std::optional<Hdf5Dataset> labels_;
  ImageSetInfo info_;
  ShardMembership membership_;
};

}  // namespace multicard
