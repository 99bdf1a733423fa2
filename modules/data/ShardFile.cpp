#include "data/ShardFile.hpp"

#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "comm/Agreement.hpp"
#include "data/ShardFormat.hpp"

namespace multicard {

namespace {

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
  info.num_shards = 1;
  info.num_bytes = static_cast<std::int64_t>(images.num_elements());
  info.class_names = file.attribute<std::vector<std::string>>("/", "class_names");
  info.mean = file.attribute<std::vector<double>>("/", "mean");
  info.std = file.attribute<std::vector<double>>("/", "std");
  if (info.mean.size() != dims[3] || info.std.size() != dims[3])
    throw DataError(fmt::format("{}: mean and std do not have {} values each", file.path(), dims[3]));
  return info;
}

[[noreturn]] void throw_cut_short(const std::string& path, const std::string& why) {
  throw DataError(fmt::format("{} has been cut short while it is read", path), why, "Prepare it again.");
}

}  // namespace

/// A file descriptor and where the pixels begin.
class ShardFile::PlainFile {
 public:
  PlainFile(std::string path, const Hdf5Dataset& images);
  ~PlainFile() { close(descriptor_); }
  PlainFile(const PlainFile&) = delete;
  PlainFile& operator=(const PlainFile&) = delete;

  void read(std::uint64_t offset, std::span<std::uint8_t> bytes) const;

 private:
  std::string path_;
  std::uint64_t start_;
  int descriptor_;
};

ShardFile::PlainFile::PlainFile(std::string path, const Hdf5Dataset& images) : path_(std::move(path)) {
  const std::optional<std::uint64_t> start = images.file_offset();
  // A dataset without rows has no place in the file.
  if (!start && images.num_elements() > 0)
    throw DataError(fmt::format("{} cannot be read with data.read: pread", path_),
                    "its images are stored in chunks, not in one piece", "Use data.read: hdf5 or prepare it again.");
  start_ = start.value_or(0);
  descriptor_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) throw DataError(fmt::format("cannot open {}", path_), system_error_text(errno));
}

void ShardFile::PlainFile::read(std::uint64_t offset, std::span<std::uint8_t> bytes) const {
  while (!bytes.empty()) {
    const ssize_t got = pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(start_ + offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw DataError(fmt::format("reading {} failed", path_), system_error_text(errno));
    if (got == 0) throw_cut_short(path_, fmt::format("it ends before byte {}", start_ + offset + bytes.size()));
    offset += static_cast<std::uint64_t>(got);
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

ShardFile::ShardFile(const std::string& path, const Communicator& communicator, ReadMethod method)
    : file_(Hdf5File::open_read(path, communicator)) {
  // All ranks see the same file, so they fail together.
  agreed(communicator, [&] {
    check_format(file_);
    images_ = file_.open_dataset(shard_format::kImages);
    labels_ = file_.open_dataset(shard_format::kLabels);
    info_ = read_info(file_, *images_, *labels_);
    file_bytes_ = std::filesystem::file_size(path);
    if (method == ReadMethod::pread) plain_ = std::make_unique<PlainFile>(path, *images_);
  });
}

ShardFile::~ShardFile() = default;
ShardFile::ShardFile(ShardFile&&) noexcept = default;
ShardFile& ShardFile::operator=(ShardFile&&) noexcept = default;

std::vector<std::int32_t> ShardFile::read_labels() const {
  return labels_->read_all<std::int32_t>();
}

void ShardFile::read(std::int64_t first, std::int64_t count, std::span<std::uint8_t> pixels) const {
  const auto extent = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  if (plain_) return plain_->read(extent(first * info_.height * info_.width * info_.channels), pixels);
  images_->read<std::uint8_t>({extent(first), 0, 0, 0},
                              {extent(count), extent(info_.height), extent(info_.width), extent(info_.channels)},
                              pixels);
  check_whole();
}

/// The library reads zeros beyond the end of a file.
void ShardFile::check_whole() const {
  std::error_code error;
  const std::uint64_t now = std::filesystem::file_size(path(), error);
  if (!error && now < file_bytes_)
    throw_cut_short(path(), fmt::format("it had {} bytes and now has {}", file_bytes_, now));
}

}  // namespace multicard
