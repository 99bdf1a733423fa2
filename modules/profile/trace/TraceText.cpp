#include "profile/trace/TraceText.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include <fmt/format.h>
#include <libdeflate.h>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"

namespace multicard {

namespace {

constexpr std::size_t kLargestText = 0xFFFFFFFF - TraceText::kPadding;
/// Header and trailer of a gzip member without data.
constexpr std::size_t kSmallestMember = 18;

struct FreeDecompressor {
  void operator()(libdeflate_decompressor* decompressor) const { libdeflate_free_decompressor(decompressor); }
};

[[noreturn]] void throw_too_long(const std::string& path) {
  throw DataError(fmt::format("{} cannot be read", path), "traces of up to 4 GB of text are",
                  "Record fewer steps at a time.");
}

/// A member ends with the length of its data modulo 4 GiB: of a file with one member it is the length of the text.
std::size_t stated_size(std::string_view packed) {
  std::uint32_t size = 0;
  std::memcpy(&size, packed.data() + packed.size() - sizeof size, sizeof size);
  return size;
}

}  // namespace

void TraceText::Free::operator()(char* bytes) const {
  std::free(bytes);
}

void TraceText::reserve(std::size_t bytes) {
  if (bytes + kPadding <= capacity_) return;
  void* larger = std::realloc(bytes_.get(), bytes + kPadding);
  if (!larger) throw std::bad_alloc();
  static_cast<void>(bytes_.release());  // realloc() has freed or moved it
  bytes_.reset(static_cast<char*>(larger));
  capacity_ = bytes + kPadding;
}

TraceText TraceText::read(const std::string& path) {
  RegularFile file(path);
  if (file.size() > kLargestText) throw_too_long(path);
  TraceText text;
  text.reserve(file.size());
  text.size_ = file.read(text.bytes_.get(), file.size());
  if (!text.text().starts_with("\x1f\x8b")) {
    std::memset(text.bytes_.get() + text.size_, 0, text.capacity_ - text.size_);
    return text;
  }
  TraceText unpacked;
  unpacked.is_unpacked_ = true;
  unpacked.decompress(path, text);
  return unpacked;
}

void TraceText::decompress(const std::string& path, const TraceText& packed) {
  const std::string_view in = packed.text();
  const std::unique_ptr<libdeflate_decompressor, FreeDecompressor> decompressor(libdeflate_alloc_decompressor());
  if (!decompressor) throw std::bad_alloc();
  reserve(std::max(in.size(), in.size() < kSmallestMember ? 0 : stated_size(in)));
  for (std::size_t at = 0; at < in.size();) {
    if (at > 0 && in.find_first_not_of('\0', at) == in.npos) break;
    std::size_t used = 0, made = 0;
    const libdeflate_result result =
        libdeflate_gzip_decompress_ex(decompressor.get(), in.data() + at, in.size() - at, bytes_.get() + size_,
                                      capacity_ - kPadding - size_, &used, &made);
    if (result == LIBDEFLATE_INSUFFICIENT_SPACE) {
      if (capacity_ > kLargestText) throw_too_long(path);
      reserve(std::min(kLargestText, 2 * capacity_));
      continue;
    }
    if (result != LIBDEFLATE_SUCCESS)
      throw DataError(fmt::format("{} cannot be decompressed", path),
                      fmt::format("its gzip member at byte {} is cut off or damaged", at));
    at += used;
    size_ += made;
  }
  std::memset(bytes_.get() + size_, 0, kPadding);
}

}  // namespace multicard
