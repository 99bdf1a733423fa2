#include "base/RegularFile.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/Error.hpp"

namespace multicard {

namespace {

/// Linux moves at most this many bytes (0x7ffff000) at once.
constexpr std::size_t kLargestCall = std::size_t{1} << 30;

std::string kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "it is a folder";
  if (S_ISFIFO(mode)) return "it is a pipe, not a regular file";
  if (S_ISSOCK(mode)) return "it is a socket, not a regular file";
  return "it is a device, not a regular file";
}

struct Opened {
  int descriptor = -1;
  std::uint64_t size = 0;
  std::string why = {};  ///< when it failed
};

/// O_NONBLOCK: a pipe without a writer is opened at once, and then refused; reading regular files is as without it.
Opened open_regular(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return {.why = errno == ENXIO ? "it is not a regular file" : system_error_text(errno)};
  // Of the open descriptor, not of the path: what the path leads to may be replaced between two calls.
  struct stat status {};
  if (fstat(descriptor, &status) != 0) {
    const int number = errno;
    close(descriptor);
    return {.why = system_error_text(number)};
  }
  if (S_ISREG(status.st_mode)) return {descriptor, static_cast<std::uint64_t>(status.st_size)};
  close(descriptor);
  return {.why = kind_of(status.st_mode)};
}

}  // namespace

RegularFile::RegularFile(std::string path) : path_(std::move(path)) {
  const Opened opened = open_regular(path_);
  if (opened.descriptor < 0) throw DataError(fmt::format("{} cannot be read", path_), opened.why);
  descriptor_ = opened.descriptor;
  size_ = opened.size;
}

RegularFile::~RegularFile() {
  close(descriptor_);
}

std::size_t RegularFile::read(char* bytes, std::size_t wanted) {
  std::size_t done = 0;
  while (done < wanted) {
    const ssize_t got = ::read(descriptor_, bytes + done, std::min(kLargestCall, wanted - done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw DataError(fmt::format("{} cannot be read", path_), system_error_text(errno));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

std::string read_file(const std::string& path) {
  RegularFile file(path);
  std::string bytes(static_cast<std::size_t>(file.size()), '\0');
  bytes.resize(file.read(bytes.data(), bytes.size()));
  // The files of /proc have no size, and others may grow.
  std::array<char, 1 << 14> chunk;
  while (const std::size_t got = file.read(chunk.data(), chunk.size()))
    bytes.append(chunk.data(), got);
  return bytes;
}

std::optional<std::string> why_unreadable(const std::string& path) {
  const Opened opened = open_regular(path);
  if (opened.descriptor < 0) return opened.why;
  close(opened.descriptor);
  return std::nullopt;
}

void require_regular_file(const std::string& path) {
  if (const auto why = why_unreadable(path)) throw DataError(fmt::format("{} cannot be read", path), *why);
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

}  // namespace multicard
