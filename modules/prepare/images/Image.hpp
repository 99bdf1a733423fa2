#pragma once
/// \file Pictures in memory.

#include <cstdint>
#include <vector>

namespace multicard {

struct ImageShape {
  std::int64_t height = 0, width = 0;
  std::int64_t channels = 0;  ///< 1 (grey) or 3 (RGB)

  std::int64_t num_bytes() const { return height * width * channels; }
  bool operator==(const ImageShape&) const = default;
};

/// Bytes in order height, width, channel.
struct Image {
  ImageShape shape;
  std::vector<std::uint8_t> pixels;
};

}  // namespace multicard
