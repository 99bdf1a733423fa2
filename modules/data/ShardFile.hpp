#pragma once
/// \file One image shard.

#include <cstdint>
#include <memory>
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

/// Who takes bytes out of the files.
enum class ReadMethod {
  hdf5,  ///< the HDF5 library, one call of the rank at a time
  pread  ///< plain reads at the dataset's place in the file, as many at a time as there are threads
};

/// An open shard.
class ShardFile {
 public:
  /// Collective. \throws DataError on all ranks: not a whole image shard; chunked or compressed images with
  /// ReadMethod::pread.
  ShardFile(const std::string& path, const Communicator& communicator, ReadMethod method);
  /// Collective, as the file is closed.
  ~ShardFile();
  ShardFile(ShardFile&&) noexcept;
  ShardFile& operator=(ShardFile&&) noexcept;

  const std::string& path() const { return file_.path(); }
  /// Of this shard alone.
  const ImageSetInfo& info() const { return info_; }
  std::vector<std::int32_t> read_labels() const;
  /// Reads the pixels of the rows [first, first + count). Not collective; any thread.
  /// \throws DataError also when the file has been cut short since it was opened.
  void read(std::int64_t first, std::int64_t count, std::span<std::uint8_t> pixels) const;

 private:
  class PlainFile;
  void check_whole() const;

  Hdf5File file_;
  std::optional<Hdf5Dataset> images_, labels_;
  ImageSetInfo info_;
  std::uint64_t file_bytes_ = 0;      ///< when it was opened
  std::unique_ptr<PlainFile> plain_;  ///< for ReadMethod::pread only
};

}  // namespace multicard
