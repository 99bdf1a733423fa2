#include "io/FileRanges.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"
#include "io/Bytes.hpp"
#include "io/Sha256.hpp"

namespace multicard {

namespace {

/// Written, and hashed, at once: what is hashed is in the cache then.
constexpr std::size_t kPiece = 1 << 20;

/// The number that a text begins with, which is taken off it.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take(std::string_view& text, char expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::string ranges_text(const ByteRanges& ranges) {
  std::string text;
  for (const auto& [begin, end] : ranges)
    text += fmt::format("{}{}-{}", text.empty() ? "" : ",", begin, end - 1);
  return text;
}

std::optional<ByteRanges> ranges_in(std::string_view text) {
  ByteRanges ranges;
  do {
    const std::optional<std::uint64_t> first = take_number(text);
    if (!first || !take(text, '-')) return std::nullopt;
    const std::optional<std::uint64_t> last = take_number(text);
    if (!last || *last < *first || *last == UINT64_MAX) return std::nullopt;
    if (!ranges.empty() && *first < ranges.back().end) return std::nullopt;
    ranges.push_back({*first, *last + 1});
  } while (take(text, ','));
  return text.empty() ? std::optional(ranges) : std::nullopt;
}

bool cover(ByteRanges ranges, std::uint64_t num_bytes) {
  std::sort(ranges.begin(), ranges.end(), [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
  std::uint64_t covered = 0;
  for (const auto& [begin, end] : ranges) {
    if (begin != covered) return false;
    covered = end;
  }
  return covered == num_bytes;
}

std::string sha256_of_ranges(const std::string& path, const ByteRanges& ranges) {
  RegularFile file(path);
  Sha256 digest;
  for (const auto& [begin, end] : ranges) {
    if (end > file.size() || lseek(file.descriptor(), static_cast<off_t>(begin), SEEK_SET) < 0)
      throw DataError(fmt::format("{} cannot be read", path), fmt::format("it ends before byte {}", end));
    digest.add(file, end - begin);
  }
  return digest.hexadecimal();
}

struct RangeWriter::Impl {
  ByteRanges ranges;
  Sha256 digest;
};

RangeWriter::RangeWriter(std::string path)
    : path_(std::move(path)), descriptor_(open(path_.c_str(), O_WRONLY | O_CLOEXEC)), impl_(std::make_unique<Impl>()) {
  if (descriptor_ < 0) refuse_writing(path_, errno);
}

RangeWriter::~RangeWriter() {
  if (descriptor_ >= 0) close(descriptor_);
}

void RangeWriter::write(std::uint64_t begin, std::string_view bytes) {
  if (bytes.empty()) return;
  ByteRanges& ranges = impl_->ranges;
  if (!ranges.empty() && begin < ranges.back().end) throw std::logic_error("ranges of a file that do not rise");
  if (ranges.empty() || begin > ranges.back().end) ranges.push_back({begin, begin});
  while (!bytes.empty()) {
    const ssize_t put =
        pwrite(descriptor_, bytes.data(), std::min(kPiece, bytes.size()), static_cast<off_t>(ranges.back().end));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) refuse_writing(path_, errno);
    const auto count = static_cast<std::size_t>(put);
    impl_->digest.add(bytes.substr(0, count));
    ranges.back().end += count;
    bytes.remove_prefix(count);
  }
}

WrittenRanges RangeWriter::finish() {
  const int descriptor = std::exchange(descriptor_, -1);
  const int failure = fsync(descriptor) != 0 ? errno : 0;
  // A network file system may report a failed write only here.
  if (close(descriptor) != 0 || failure != 0) refuse_writing(path_, failure != 0 ? failure : errno);
  return {std::move(impl_->ranges), impl_->digest.hexadecimal()};
}

}  // namespace multicard
