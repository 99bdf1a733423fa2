#include "io/ReservedSpace.hpp"

#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/Error.hpp"
#include "base/Text.hpp"

namespace multicard {

namespace {

/// Takes the blocks, or returns the error number.
int take(int descriptor, std::uint64_t from, std::uint64_t to) {
  // The size must stay: HDF5 compares it with the end of the data that its superblock names.
  while (fallocate(descriptor, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(from), static_cast<off_t>(to - from)) != 0)
    if (errno != EINTR) return errno;
  return 0;
}

/// Without reservations: whether the disk has room for what the file still lacks.
int compare_free_space(int descriptor, std::uint64_t to) {
  struct statvfs system {};
  struct stat file {};
  if (fstatvfs(descriptor, &system) != 0 || fstat(descriptor, &file) != 0) return 0;
  const std::uint64_t has = static_cast<std::uint64_t>(file.st_blocks) * 512;
  const std::uint64_t free_bytes = static_cast<std::uint64_t>(system.f_bavail) * system.f_frsize;
  return to > has && to - has > free_bytes ? ENOSPC : 0;
}

}  // namespace

ReservedSpace::ReservedSpace(std::string path)
    : path_(std::move(path)), descriptor_(open(path_.c_str(), O_WRONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) throw DataError(fmt::format("{} cannot be written", path_), system_error_text(errno));
}

ReservedSpace::~ReservedSpace() {
  close(descriptor_);
}

void ReservedSpace::reserve(std::uint64_t bytes) {
  if (bytes <= reserved_) return;
  int error = take(descriptor_, reserved_, bytes);
  // Some file systems (NFS before version 4.2, FUSE) reserve nothing. Their free space may be gone by the time of the
  // write, but a disk that is full already is found.
  if (error == EOPNOTSUPP || error == ENOSYS) error = compare_free_space(descriptor_, bytes);
  if (error == ENOSPC || error == EDQUOT)
    throw DataError(fmt::format("{} cannot grow to {}", path_, human_bytes(static_cast<double>(bytes))),
                    fmt::format("the disk is full: {}", system_error_text(error)),
                    "Free some space or choose another folder.");
  if (error != 0) throw DataError(fmt::format("{} cannot be written", path_), system_error_text(error));
  reserved_ = bytes;
}

void ReservedSpace::release() {
  struct stat status {};
  // Setting the size it has frees the blocks after it. If that fails they are only unused.
  if (fstat(descriptor_, &status) == 0) static_cast<void>(ftruncate(descriptor_, status.st_size) == 0);
  reserved_ = 0;
}

}  // namespace multicard
