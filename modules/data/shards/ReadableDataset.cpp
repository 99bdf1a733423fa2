#include "data/shards/ReadableDataset.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"

namespace multicard {

namespace {

[[noreturn]] void throw_cut_short(const std::string& path, const std::string& why) {
  throw DataError(fmt::format("{} was truncated while being read", path), why, "Prepare it again.");
}

}  // namespace

/// A file descriptor and where the values begin.
class ReadableDataset::PlainFile {
 public:
  PlainFile(std::string path, const Hdf5Dataset& dataset);
  void read(std::uint64_t offset, std::span<std::byte> bytes) const;

 private:
  RegularFile file_;
  std::uint64_t start_;
};

ReadableDataset::PlainFile::PlainFile(std::string path, const Hdf5Dataset& dataset) : file_(std::move(path)) {
  // Only a dataset in contiguous layout has one place in the file, with its values in row-major order as the library
  // gives them. Past the library no values are converted: types were checked against those of memory before.
  const std::optional<std::uint64_t> start = dataset.file_offset();
  // A dataset without rows has no place in the file.
  if (!start && dataset.num_elements() > 0)
    throw DataError(fmt::format("{} cannot be read with data.read: pread", file_.path()),
                    fmt::format("{} is stored in chunks, not in one piece", dataset.path()),
                    "Use data.read: hdf5 or prepare it again.");
  start_ = start.value_or(0);
}

void ReadableDataset::PlainFile::read(std::uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    // pread() may return less than was asked for, above all with more than 2 GiB.
    const ssize_t got = pread(file_.descriptor(), bytes.data(), bytes.size(), static_cast<off_t>(start_ + offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw DataError(fmt::format("reading {} failed", file_.path()), system_error_text(errno));
    if (got == 0) throw_cut_short(file_.path(), fmt::format("it ends before byte {}", start_ + offset + bytes.size()));
    offset += static_cast<std::uint64_t>(got);
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

ReadableDataset::ReadableDataset(std::string file, Hdf5Dataset dataset, ReadMethod method)
    : path_(std::move(file)),
      dataset_(std::move(dataset)),
      row_bytes_(element_bytes(dataset_.type())),
      file_bytes_(std::filesystem::file_size(path_)) {
  for (std::size_t d = 1; d < dataset_.dims().size(); ++d)
    row_bytes_ *= dataset_.dims()[d];
  if (method == ReadMethod::pread) plain_ = std::make_shared<PlainFile>(path_, dataset_);
}

void ReadableDataset::read_plain(std::int64_t first, std::span<std::byte> bytes) const {
  plain_->read(static_cast<std::uint64_t>(first) * row_bytes_, bytes);
}

/// The library reads zeros beyond the end of a file.
void ReadableDataset::check_whole() const {
  std::error_code error;
  const std::uint64_t now = std::filesystem::file_size(path_, error);
  if (!error && now < file_bytes_)
    throw_cut_short(path_, fmt::format("it had {} bytes and now has {}", file_bytes_, now));
}

Extents ReadableDataset::start_of(std::int64_t first) const {
  Extents start(dataset_.dims().size(), 0);
  start[0] = static_cast<std::uint64_t>(first);
  return start;
}

Extents ReadableDataset::counts_of(std::int64_t count) const {
  Extents counts = dataset_.dims();
  counts[0] = static_cast<std::uint64_t>(count);
  return counts;
}

}  // namespace multicard
