#pragma once
/// \file Limits on what a tokenizer file may ask for: far above those of real ones, and low enough for hostile ones.

#include <cstddef>
#include <string>

namespace multicard {

/// Steps of a normalizer, a pre-tokenizer or a decoder, at most.
inline constexpr std::size_t kMostSteps = 128;
/// Special tokens that a post-processor puts around a text, at most.
inline constexpr std::size_t kMostAround = 4096;

/// Bytes that may become of a text of `bytes` on its way to tokens or back. Real normalizers make at most eleven times
/// of it (NFKD of U+FDFA); the rest is for prefixes of short texts.
inline constexpr std::size_t room_for(std::size_t bytes) {
  constexpr std::size_t kAlways = std::size_t{1} << 20, kTimes = 16;
  return kAlways + kTimes * bytes;
}

/// \throws DataError when `what` ("the normalizer") has more than kMostSteps steps
void require_few_steps(std::size_t num_steps, const char* what);

/// Counts bytes off a room.
class TextRoom {
 public:
  /// \param what makes the bytes, for the error: "the normalizer"
  TextRoom(std::size_t text_bytes, const char* what)
      : text_bytes_(text_bytes), left_(room_for(text_bytes)), what_(what) {}

  std::size_t left() const { return left_; }
  /// \throws DataError when there is no room for `bytes`
  void take(std::size_t bytes) {
    if (bytes > left_) refuse();
    left_ -= bytes;
  }
  /// "the normalizer makes more than 1.0 MiB of a text of 50 bytes"
  [[noreturn]] void refuse() const;

 private:
  std::size_t text_bytes_, left_;
  const char* what_;
};

}  // namespace multicard
