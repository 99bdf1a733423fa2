#include "data/loading/Preprocessor.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Error.hpp"

namespace multicard {

namespace {

double channel_value(const std::vector<double>& values, std::int64_t channel, const char* name) {
  if (values.size() != 1 && values.size() != 3)
    throw UsageError(fmt::format("{} values of {} are given for three channels", values.size(), name), "",
                     "Give one or three.");
  return values[values.size() == 1 ? 0 : static_cast<std::size_t>(channel)];
}

}  // namespace

template <class T>
Preprocessor<T>::Preprocessor(const PreprocessOptions& options)
    : options_(options), rows_(taps(options.height, options.size)), columns_(taps(options.width, options.size)) {
  if (options.channels != 1 && options.channels != kChannels)
    throw DataError(fmt::format("images of {} channels cannot be used", options.channels), "", "Use grey or RGB.");
  for (std::int64_t channel = 0; channel < kChannels; ++channel) {
    const T mean = static_cast<T>(channel_value(options.mean, channel, "mean"));
    const T given = static_cast<T>(channel_value(options.std, channel, "std"));
    // A channel without variation, such as an empty one, would be divided by 0.
    const T std = given == T{0} ? T{1} : given;
    for (std::size_t byte = 0; byte < 256; ++byte)
      normalised_[static_cast<std::size_t>(channel)][byte] = (static_cast<T>(byte) / T{255} - mean) / std;
  }
}

// Output i is at (i + 1/2) * from / to - 1/2 of the input (half-pixel centres). Below 0 it is clamped to the first
// pixel, as torch does; beyond the last pixel low and high are both the last one, and the weights still add up to 1.
template <class T>
typename Preprocessor<T>::Taps Preprocessor<T>::taps(std::int64_t from, std::int64_t to) {
  const T scale = static_cast<T>(from) / static_cast<T>(to);
  Taps taps(static_cast<std::size_t>(to));
  for (std::int64_t i = 0; i < to; ++i) {
    const T place = std::max(scale * (static_cast<T>(i) + T(0.5)) - T(0.5), T{0});
    const std::int64_t low = std::min(static_cast<std::int64_t>(place), from - 1);
    const T high_weight = std::clamp(place - static_cast<T>(low), T{0}, T{1});
    taps[static_cast<std::size_t>(i)] = {low, std::min(low + 1, from - 1), T{1} - high_weight, high_weight};
  }
  return taps;
}

/// Of resize: two stretched rows.
template <class T>
std::vector<T> Preprocessor<T>::scratch() const {
  return std::vector<T>(static_cast<std::size_t>(2 * kChannels * options_.size));
}

template <class T>
void Preprocessor<T>::run(const std::uint8_t* pixels, std::int64_t num_images, T* out) const {
  const bool has_size = options_.height == options_.size && options_.width == options_.size;
  std::vector<T> scratch = this->scratch();
  for (std::int64_t image = 0; image < num_images; ++image) {
    if (has_size)
      normalise_only(pixels, Mirror::no, out);
    else
      resize(pixels, rows_, columns_, out, scratch);
    pixels += bytes_per_image();
    out += num_values();
  }
}

// Mirroring after resizing is the same as using the columns' taps in reverse order, and costs nothing. The row stride
// stays that of the whole stored image.
template <class T>
void Preprocessor<T>::run(const std::uint8_t* pixels, std::span<const ImageWindow> windows, T* out) const {
  std::vector<T> scratch = this->scratch();
  for (const ImageWindow& window : windows) {
    const std::uint8_t* corner = pixels + (window.top * options_.width + window.left) * options_.channels;
    if (window.height == options_.size && window.width == options_.size) {
      normalise_only(corner, window.mirror, out);
    } else {
      Taps columns = taps(window.width, options_.size);
      if (window.mirror == Mirror::yes) std::reverse(columns.begin(), columns.end());
      resize(corner, taps(window.height, options_.size), columns, out, scratch);
    }
    pixels += bytes_per_image();
    out += num_values();
  }
}

template <class T>
void Preprocessor<T>::normalise_only(const std::uint8_t* pixels, Mirror mirror, T* out) const {
  const std::int64_t size = options_.size, channels = options_.channels;
  const bool nhwc = options_.layout == ImageLayout::nhwc;
  const std::int64_t step = nhwc ? kChannels : 1;
  const std::int64_t first = mirror == Mirror::yes ? (size - 1) * channels : 0;
  const std::int64_t pixel_step = mirror == Mirror::yes ? -channels : channels;
  for (std::int64_t channel = 0; channel < kChannels; ++channel) {
    const auto& table = normalised_[static_cast<std::size_t>(channel)];
    const std::uint8_t* row = pixels + first + (channels == 1 ? 0 : channel);
    T* to = out + (nhwc ? channel : channel * size * size);
    for (std::int64_t y = 0; y < size; ++y) {
      for (std::int64_t x = 0; x < size; ++x)
        to[x * step] = table[row[x * pixel_step]];
      row += options_.width * channels;
      to += size * step;
    }
  }
}

/// Both passes work on normalised values: interpolation weights add up to 1, so the order makes no difference beyond
/// rounding, and input rows are far fewer than output rows when images grow.
template <class T>
void Preprocessor<T>::resize(const std::uint8_t* pixels, const Taps& rows, const Taps& columns, T* out,
                             std::vector<T>& scratch) const {
  const std::int64_t size = options_.size, row_values = kChannels * size;
  const bool planar = options_.layout == ImageLayout::nchw;
  T *low = scratch.data(), *high = low + row_values;
  std::int64_t low_row = -1, high_row = -1;
  const auto stretched = [&](std::int64_t row, T* to) {
    stretch_row(pixels + row * options_.width * options_.channels, columns, to);
    return row;
  };
  for (std::int64_t y = 0; y < size; ++y) {
    const Tap& tap = rows[static_cast<std::size_t>(y)];
    // Rows come from top to bottom: the stretched rows move up as a window of two, so that every input row that is
    // needed is stretched once.
    if (tap.low == high_row) {
      std::swap(low, high);
      std::swap(low_row, high_row);
    }
    if (low_row != tap.low) low_row = stretched(tap.low, low);
    if (high_row != tap.high) high_row = stretched(tap.high, high);
    const T low_weight = tap.low_weight, high_weight = tap.high_weight;
    const std::int64_t runs = planar ? kChannels : 1, run_values = row_values / runs;
    for (std::int64_t run = 0; run < runs; ++run) {
      const T *a = low + run * run_values, *b = high + run * run_values;
      T* to = out + run * size * size + y * run_values;
      for (std::int64_t i = 0; i < run_values; ++i)
        to[i] = low_weight * a[i] + high_weight * b[i];
    }
  }
}

template <class T>
void Preprocessor<T>::stretch_row(const std::uint8_t* row, const Taps& columns, T* out) const {
  const std::int64_t channels = options_.channels;
  const std::int64_t step = options_.layout == ImageLayout::nhwc ? kChannels : 1;
  for (std::int64_t channel = 0; channel < kChannels; ++channel) {
    const auto& table = normalised_[static_cast<std::size_t>(channel)];
    const std::uint8_t* from = row + (channels == 1 ? 0 : channel);
    T* to = out + (options_.layout == ImageLayout::nhwc ? channel : channel * options_.size);
    for (const Tap& tap : columns) {
      *to = tap.low_weight * table[from[tap.low * channels]] + tap.high_weight * table[from[tap.high * channels]];
      to += step;
    }
  }
}

template class Preprocessor<float>;
template class Preprocessor<double>;

}  // namespace multicard
