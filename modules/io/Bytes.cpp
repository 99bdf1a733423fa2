#include "io/Bytes.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"
#include "io/AtomicFile.hpp"

namespace multicard {

namespace {

/// Linux moves at most this many bytes (0x7ffff000) at once.
constexpr std::size_t kLargestCall = std::size_t{1} << 30;

class Inflater {
 public:
  explicit Inflater(const std::string& compressed) {
    constexpr int kGzipOnly = 15 + 16;
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw EnvironmentError("zlib cannot be initialised");
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
    left_ = compressed.size();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// Appends the next bytes; false once everything is read. Throws zlib's words.
  bool next(std::string& out) {
    if (stream_.avail_in == 0) refill();
    std::array<char, 1 << 16> chunk;
    stream_.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream_.avail_out = chunk.size();
    const int code = inflate(&stream_, Z_NO_FLUSH);
    out.append(chunk.data(), chunk.size() - stream_.avail_out);
    // A gzip file may consist of several members, as `cat a.gz b.gz` makes them; zlib ends after each. Resetting keeps
    // the place in the input.
    if (code == Z_STREAM_END) {
      if (stream_.avail_in == 0 && left_ == 0) return false;
      inflateReset(&stream_);
    } else if (code == Z_BUF_ERROR) {
      throw std::runtime_error("it ends too early");
    } else if (code != Z_OK) {
      throw std::runtime_error(stream_.msg ? stream_.msg : "it is damaged");
    }
    return true;
  }

 private:
  void refill() {
    // zlib counts in 32 bits. next_in has moved to the end of the piece before, so it need not be set again.
    stream_.avail_in = static_cast<uInt>(std::min(kLargestCall, left_));
    left_ -= stream_.avail_in;
  }
  z_stream stream_{};
  std::size_t left_ = 0;
};

}  // namespace

std::string read_file_maybe_gzip(const std::string& path) {
  std::string bytes = read_file(path);
  if (!bytes.starts_with("\x1f\x8b")) return bytes;
  std::string out;
  try {
    Inflater inflater(bytes);
    while (inflater.next(out)) {
    }
  } catch (const std::runtime_error& error) {
    throw DataError(fmt::format("{} cannot be decompressed", path), error.what());
  }
  return out;
}

void write_file(const std::string& path, std::string_view bytes) {
  PendingFile pending(path);
  OutputFile file(pending.path());
  file.write(bytes);
  file.close();
  pending.commit();
}

OutputFile::OutputFile(std::string path, Opening opening)
    : path_(std::move(path)),
      descriptor_(open(path_.c_str(),
                       O_WRONLY | O_CREAT | O_CLOEXEC | (opening == Opening::append ? O_APPEND : O_TRUNC), 0666)) {
  if (descriptor_ < 0) fail(errno);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(descriptor_, bytes.data(), std::min(kLargestCall, bytes.size()));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail(errno);
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
  if (descriptor >= 0 && ::close(descriptor) != 0) fail(errno);
}

void OutputFile::fail(int number) const {
  const bool is_full = number == ENOSPC || number == EDQUOT;
  throw DataError(fmt::format("{} cannot be written", path_), system_error_text(number),
                  is_full ? "Free some space or choose another folder." : "");
}

}  // namespace multicard
