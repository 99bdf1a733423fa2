#include "prepare/images/Resize.hpp"

#include <algorithm>
#include <cmath>

namespace multicard {

namespace {

// Pillow's precision: 255 x 2^22 and the rounding stay below 2^31.
constexpr int kWeightBits = 22;

/// The inputs [first, first + weights.size()) of one output, with weights of kWeightBits binary places that add up
/// to 1.
struct Window {
  std::int64_t first;
  std::vector<std::int32_t> weights;
};

// The triangle has half a width of one output pixel, measured in the input, and at least one input pixel: shrinking
// averages over all that an output covers, growing interpolates. At the borders the weights are made to add up to 1
// again.
std::vector<Window> windows(std::int64_t from, std::int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to), reach = std::max(scale, 1.0);
  std::vector<Window> all;
  for (std::int64_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const auto first = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(centre - reach + 0.5)));
    const auto last = std::min(from, static_cast<std::int64_t>(std::floor(centre + reach + 0.5)));
    std::vector<double> weights;
    double sum = 0;
    for (std::int64_t j = first; j < last; ++j) {
      weights.push_back(std::max(0.0, 1.0 - std::abs((static_cast<double>(j) + 0.5 - centre) / reach)));
      sum += weights.back();
    }
    Window window{first, {}};
    for (const double weight : weights)
      window.weights.push_back(static_cast<std::int32_t>(std::lround(weight / sum * (1 << kWeightBits))));
    all.push_back(std::move(window));
  }
  return all;
}

/// The weighted sum of bytes `stride` apart.
std::uint8_t weighted(const Window& window, const std::uint8_t* first, std::int64_t stride) {
  // One half, so that the shift rounds.
  std::int32_t sum = 1 << (kWeightBits - 1);
  for (const std::int32_t weight : window.weights) {
    sum += weight * *first;
    first += stride;
  }
  return static_cast<std::uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

Image resized_rows(const Image& image, std::int64_t width) {
  const ImageShape& from = image.shape;
  Image result{{from.height, width, from.channels}, {}};
  result.pixels.reserve(static_cast<std::size_t>(result.shape.num_bytes()));
  const std::vector<Window> columns = windows(from.width, width);
  for (std::int64_t y = 0; y < from.height; ++y)
    for (const Window& window : columns)
      for (std::int64_t channel = 0; channel < from.channels; ++channel) {
        const std::uint8_t* first = image.pixels.data() + (y * from.width + window.first) * from.channels + channel;
        result.pixels.push_back(weighted(window, first, from.channels));
      }
  return result;
}

Image resized_columns(const Image& image, std::int64_t height) {
  const ImageShape& from = image.shape;
  Image result{{height, from.width, from.channels}, {}};
  result.pixels.reserve(static_cast<std::size_t>(result.shape.num_bytes()));
  const std::int64_t stride = from.width * from.channels;
  for (const Window& window : windows(from.height, height))
    for (std::int64_t i = 0; i < stride; ++i)
      result.pixels.push_back(weighted(window, image.pixels.data() + window.first * stride + i, stride));
  return result;
}

}  // namespace

// The order of the passes is part of the result, as each rounds to bytes: rows first, as in Pillow.
Image resized(Image image, std::int64_t size) {
  if (image.shape.width != size) image = resized_rows(image, size);
  if (image.shape.height != size) image = resized_columns(image, size);
  return image;
}

}  // namespace multicard
