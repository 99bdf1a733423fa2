#include "io/Bytes.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"
#include "comm/AbortRemovals.hpp"
#include "io/AtomicFile.hpp"

namespace multicard {

namespace {

/// Linux moves at most this many bytes (0x7ffff000) at once.
constexpr std::size_t kLargestCall = std::size_t{1} << 30;

}  // namespace

void refuse_writing(const std::string& path, int number) {
  const bool is_full = number == ENOSPC || number == EDQUOT;
  throw DataError(fmt::format("{} cannot be written", path), system_error_text(number),
                  is_full ? "Free some space or choose another folder." : "");
}

void write_file(const std::string& path, std::string_view bytes) {
  PendingFile pending(path);
  OutputFile file(pending.path());
  file.write(bytes);
  file.close();
  pending.commit();
}

OutputFile::OutputFile(std::string path, Opening opening) : path_(std::move(path)) {
  const CreationGuard guard;
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (opening == Opening::append ? O_APPEND : O_TRUNC);
  descriptor_ = open(path_.c_str(), flags, 0666);
  if (descriptor_ < 0) refuse_writing(path_, errno);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(descriptor_, bytes.data(), std::min(kLargestCall, bytes.size()));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) refuse_writing(path_, errno);
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
}

void OutputFile::write(std::span<const std::byte> bytes) {
  write(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

void OutputFile::close() {
  const int descriptor = descriptor_;
  descriptor_ = -1;
  // A network file system may report a failed write only here. Linux has given the descriptor up even then, so it must
  // not be closed again: another thread may have the number by now.
  if (descriptor >= 0 && ::close(descriptor) != 0) refuse_writing(path_, errno);
}

}  // namespace multicard
