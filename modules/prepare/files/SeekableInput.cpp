#include "prepare/files/SeekableInput.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fmt/format.h>
#include <zlib.h>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"

namespace multicard {

struct SeekableInput::Handle {
  gzFile file;
};

// zlib's gz functions read plain files as they are (by the missing magic number 1f 8b), so that one way serves both. A
// concatenation of gzip members, as bgzip makes them, is read to its end.
SeekableInput::SeekableInput(const std::string& path) : path_(path) {
  require_regular_file(path);
  errno = 0;
  gzFile file = gzopen(path.c_str(), "rb");
  if (!file) fail(errno != 0 ? system_error_text(errno) : "out of memory");
  constexpr unsigned kBufferBytes = 1 << 18;
  gzbuffer(file, kBufferBytes);
  handle_ = std::make_unique<Handle>(Handle{file});
}

SeekableInput::~SeekableInput() {
  if (handle_) gzclose_r(handle_->file);
}

void SeekableInput::read(std::uint64_t offset, std::span<std::uint8_t> bytes) {
  const std::size_t got = read_some(offset, bytes);
  if (got < bytes.size())
    fail(fmt::format("it is truncated: it ends before byte {} of its contents", offset + bytes.size()));
}

void SeekableInput::expect_end(std::uint64_t offset) {
  std::uint8_t beyond = 0;
  if (read_some(offset, {&beyond, 1}) > 0) fail(fmt::format("it continues after byte {}, where it should end", offset));
}

void SeekableInput::skip_to(std::uint64_t offset) {
  gzFile file = handle_->file;
  const auto gap = static_cast<std::int64_t>(offset) - static_cast<std::int64_t>(gztell(file));
  if (gap == 0) return;
  // A seek gives up what is buffered of a plain file, so what lies between two records is read instead.
  std::array<std::uint8_t, 4096> between;
  if (gap > 0 && gap <= static_cast<std::int64_t>(between.size())) {
    gzread(file, between.data(), static_cast<unsigned>(gap));
  } else {
    gzseek(file, static_cast<z_off_t>(offset), SEEK_SET);
  }
}

// gzread() returns an int and takes an unsigned: larger reads are cut into calls. Fewer bytes than wanted mean the end
// of the file or an error, which gzerror() distinguishes; a truncated member is Z_BUF_ERROR, not the end.
std::size_t SeekableInput::read_some(std::uint64_t offset, std::span<std::uint8_t> bytes) {
  gzFile file = handle_->file;
  skip_to(offset);
  constexpr std::size_t kLargestCall = std::size_t{1} << 30;
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto wanted = static_cast<unsigned>(std::min(kLargestCall, bytes.size() - done));
    const int got = gzread(file, bytes.data() + done, wanted);
    if (got > 0) done += static_cast<std::size_t>(got);
    if (got < static_cast<int>(wanted)) break;
  }
  int code = Z_OK;
  const char* text = gzerror(file, &code);
  if (code == Z_ERRNO) fail(system_error_text(errno));
  if (code == Z_BUF_ERROR) fail("it is truncated: its compressed data end too early");
  // zlib puts the path in front.
  if (code != Z_OK) fail(std::string_view(text).starts_with(path_ + ": ") ? text + path_.size() + 2 : text);
  return done;
}

void SeekableInput::fail(const std::string& why) const {
  throw DataError(fmt::format("{} cannot be read", path_), why);
}

}  // namespace multicard
