#include "profile/timeline/GzipText.hpp"

#include <cstdint>
#include <new>
#include <utility>

#include <libdeflate.h>

namespace multicard {

namespace {

constexpr int kFastest = 1;

/// Least significant byte first (RFC 1952).
void append_number(std::string& bytes, std::uint32_t number) {
  for (int shift = 0; shift < 32; shift += 8)
    bytes += static_cast<char>(number >> shift & 0xFF);
}

}  // namespace

void GzipText::Free::operator()(libdeflate_compressor* compressor) const {
  libdeflate_free_compressor(compressor);
}

GzipText::GzipText(std::string comment)
    : comment_(std::move(comment)), compressor_(libdeflate_alloc_compressor(kFastest)) {
  if (!compressor_) throw std::bad_alloc();
}

std::string GzipText::take() {
  if (!text_.empty()) pack();
  return std::exchange(packed_, {});
}

void GzipText::pack() {
  // Magic number, deflate, "a comment follows", no time, the fastest compression, Unix.
  packed_ += std::string_view("\x1f\x8b\x08\x10\0\0\0\0\x04\x03", 10);
  packed_ += comment_;
  packed_ += '\0';
  const std::size_t begin = packed_.size();
  packed_.resize(begin + libdeflate_deflate_compress_bound(compressor_.get(), text_.size()));
  const std::size_t length = libdeflate_deflate_compress(compressor_.get(), text_.data(), text_.size(),
                                                         packed_.data() + begin, packed_.size() - begin);
  packed_.resize(begin + length);
  append_number(packed_, libdeflate_crc32(0, text_.data(), text_.size()));
  append_number(packed_, static_cast<std::uint32_t>(text_.size()));
  text_.clear();
}

}  // namespace multicard
