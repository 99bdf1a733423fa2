#pragma once
/// \file The few rows of an image that a 3x3 filter needs at a time.

#include <algorithm>

#include "kernels/cpu/DepthwiseRows.hpp"
#include "kernels/cpu/Scratch.hpp"

namespace multicard {

/// The last three rows of an image, with zero pixels at both ends and zero rows above and below.
template <typename T>
class RowRing {
 public:
  RowRing(std::int64_t height, std::int64_t width, std::int64_t channels)
      : height_(height),
        channels_(channels),
        row_size_((width + 2) * channels),
        slots_(Scratch<T>::zeros(4 * row_size_)) {}

  /// Where the pixels of `row` go; forgets row - 3.
  T* pixels(std::int64_t row) { return slots_.data() + row % 3 * row_size_ + channels_; }
  /// The padded row; zeros outside the image.
  const T* padded(std::int64_t row) const {
    const std::int64_t slot = row < 0 || row >= height_ ? 3 : row % 3;
    return slots_.data() + slot * row_size_;
  }

 private:
  std::int64_t height_, channels_, row_size_;
  Scratch<T> slots_;
};

/// Fills a ring of activated input rows, each once.
template <typename S>
class InputRows {
 public:
  explicit InputRows(const Depthwise<S>& layer) : layer_(layer), ring_(layer.height, layer.width, layer.channels) {}

  void start(const S* image) {
    image_ = image;
    next_ = 0;
  }
  /// The three rows the filter sees for output row `row_out`.
  FilterRows<Compute<S>> around(std::int64_t row_out) {
    const std::int64_t centre = row_out * layer_.stride;
    for (; next_ <= std::min(layer_.height - 1, centre + 1); ++next_)
      fill(next_);
    return {{ring_.padded(centre - 1), ring_.padded(centre), ring_.padded(centre + 1)}};
  }

 private:
  void fill(std::int64_t row) {
    const std::int64_t size = layer_.width * layer_.channels;
    const S* x = image_ + row * size;
    if (layer_.before)
      row_kernels<S>().normalise_wide(x, layer_.width, layer_.channels, layer_.before->view(), ring_.pixels(row));
    else
      row_kernels<S>().widen(x, size, ring_.pixels(row));
  }

  const Depthwise<S>& layer_;
  RowRing<Compute<S>> ring_;
  const S* image_ = nullptr;
  std::int64_t next_ = 0;
};

/// Rows of an image gather until they make a band: values are looked at again (moments, masks) in bands, while they are
/// in the cache.
class Band {
 public:
  Band(std::int64_t width, std::int64_t height) : width_(width), height_(height) {}
  /// Calls body(first pixel, number of pixels) when `row`, now complete, ends a band.
  template <typename Body>
  void end_row(std::int64_t row, const Body& body) {
    const std::int64_t pixels = (row + 1) * width_ - first_;
    if (pixels < kBandPixels && row + 1 < height_) return;
    body(first_, pixels);
    first_ += pixels;
  }

 private:
  static constexpr std::int64_t kBandPixels = 64;
  std::int64_t width_, height_, first_ = 0;
};

}  // namespace multicard
