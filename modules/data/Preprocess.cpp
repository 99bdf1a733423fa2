#include "data/Preprocess.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/Error.hpp"

namespace multicard {

namespace {

template <class T>
std::vector<T> three(const std::vector<double>& values, std::int64_t channels, const char* what) {
  if (values.size() != 1 && values.size() != 3)
    throw UsageError(fmt::format("data.normalize.{} has {} values", what, values.size()),
                     fmt::format("images have {} channels", channels), "Give one value or three.");
  std::vector<T> result(3);
  for (std::size_t c = 0; c < 3; ++c)
    result[c] = static_cast<T>(values[values.size() == 1 ? 0 : c]);
  return result;
}

}  // namespace

template <class T>
Preprocessor<T>::Preprocessor(const PreprocessOptions& options)
    : options_(options),
      rows_(taps(options.height, options.size)),
      columns_(taps(options.width, options.size)),
      mean_(three<T>(options.mean, options.channels, "mean")),
      std_(three<T>(options.std, options.channels, "std")) {
  if (options.channels != 1 && options.channels != 3)
    throw UsageError(fmt::format("images of {} channels cannot be used", options.channels), "1 or 3 are possible");
}

template <class T>
std::vector<typename Preprocessor<T>::Tap> Preprocessor<T>::taps(std::int64_t from, std::int64_t to) {
  std::vector<Tap> result(static_cast<std::size_t>(to));
  const T scale = static_cast<T>(from) / static_cast<T>(to);
  for (std::int64_t i = 0; i < to; ++i) {
    const T source = std::max(T(0), (static_cast<T>(i) + T(0.5)) * scale - T(0.5));
    const std::int64_t low = std::min(static_cast<std::int64_t>(source), from - 1);
    result[static_cast<std::size_t>(i)] = {low, std::min(low + 1, from - 1), source - static_cast<T>(low)};
  }
  return result;
}

/// One source row at the result's width, channels interleaved.
template <class T>
void Preprocessor<T>::resize_row(const std::uint8_t* row, T* out) const {
  const std::int64_t channels = options_.channels;
  if (options_.width == options_.size) {
    for (std::int64_t i = 0; i < options_.width * channels; ++i)
      out[i] = static_cast<T>(row[i]);
    return;
  }
  for (const Tap& tap : columns_)
    for (std::int64_t c = 0; c < channels; ++c) {
      const T low = row[tap.low * channels + c], high = row[tap.high * channels + c];
      *out++ = (T(1) - tap.weight) * low + tap.weight * high;
    }
}

/// Normalises one row of the result and puts it in place.
template <class T>
void Preprocessor<T>::write_row(const T* row, std::int64_t y, T* result) const {
  const std::int64_t size = options_.size, step = options_.channels == 1 ? 1 : 3;
  for (std::int64_t c = 0; c < 3; ++c) {
    const T* from = row + (step == 1 ? 0 : c);
    const T mean = mean_[static_cast<std::size_t>(c)], std = std_[static_cast<std::size_t>(c)];
    if (options_.layout == ImageLayout::nchw) {
      T* out = result + (c * size + y) * size;
      for (std::int64_t x = 0; x < size; ++x)
        out[x] = (from[x * step] / T(255) - mean) / std;
    } else {
      T* out = result + y * size * 3 + c;
      for (std::int64_t x = 0; x < size; ++x)
        out[x * 3] = (from[x * step] / T(255) - mean) / std;
    }
  }
}

template <class T>
void Preprocessor<T>::operator()(const std::uint8_t* image, T* result) const {
  const std::int64_t row_bytes = options_.width * options_.channels, row_values = options_.size * options_.channels;
  const auto length = static_cast<std::size_t>(row_values);
  std::vector<T> low(length), high(length), mixed(length);
  std::int64_t low_row = -1, high_row = -1;
  for (std::int64_t y = 0; y < options_.size; ++y) {
    const Tap& tap = rows_[static_cast<std::size_t>(y)];
    if (tap.low == high_row) {
      std::swap(low, high);
      std::swap(low_row, high_row);
    }
    if (tap.low != low_row) resize_row(image + (low_row = tap.low) * row_bytes, low.data());
    if (tap.weight == T(0)) {
      write_row(low.data(), y, result);
      continue;
    }
    if (tap.high != high_row) resize_row(image + (high_row = tap.high) * row_bytes, high.data());
    for (std::size_t i = 0; i < length; ++i)
      mixed[i] = (T(1) - tap.weight) * low[i] + tap.weight * high[i];
    write_row(mixed.data(), y, result);
  }
}

template class Preprocessor<float>;
template class Preprocessor<double>;

}  // namespace multicard
