#include "data/SeekableInput.hpp"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>
#include <zlib.h>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"

namespace multicard {

struct SeekableInput::Handle {
  gzFile file;
};

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

std::size_t SeekableInput::read_some(std::uint64_t offset, std::span<std::uint8_t> bytes) {
  gzFile file = handle_->file;
  if (gztell(file) != static_cast<z_off_t>(offset)) gzseek(file, static_cast<z_off_t>(offset), SEEK_SET);
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
