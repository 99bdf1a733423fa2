#pragma once
/// \file Reading parts of a dataset, by the HDF5 library or past it.

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "data/shards/ShardReading.hpp"
#include "io/Hdf5.hpp"

namespace multicard {

/// A dataset from which consecutive rows (along its first dimension) are read. Any thread.
class ReadableDataset {
 public:
  /// \throws DataError for a chunked or compressed dataset with ReadMethod::pread.
  ReadableDataset(std::string file, Hdf5Dataset dataset, ReadMethod method);

  const Hdf5Dataset& dataset() const { return dataset_; }
  std::int64_t num_rows() const { return static_cast<std::int64_t>(dataset_.dims().at(0)); }

  /// The rows [first, first + count), as many values as they have. Not collective.
  /// \throws DataError also when the file has been cut short since it was opened.
  template <class T>
  void read(std::int64_t first, std::int64_t count, std::span<T> values) const {
    if (plain_) return read_plain(first, std::as_writable_bytes(values));
    dataset_.read<T>(start_of(first), counts_of(count), values);
    check_whole();
  }

 private:
  class PlainFile;
  void read_plain(std::int64_t first, std::span<std::byte> bytes) const;
  void check_whole() const;
  Extents start_of(std::int64_t first) const;
  Extents counts_of(std::int64_t count) const;

  std::string path_;
  Hdf5Dataset dataset_;
  std::uint64_t row_bytes_;
  std::uint64_t file_bytes_;          ///< when it was opened
  std::shared_ptr<PlainFile> plain_;  ///< for ReadMethod::pread only
};

}  // namespace multicard
