#pragma once
/// \file From stored bytes to the network's input.

#include <cstdint>
#include <vector>

namespace multicard {

/// Where the channel index stands in memory.
enum class ImageLayout { nhwc, nchw };

struct PreprocessOptions {
  std::int64_t height = 0, width = 0, channels = 0;  ///< of the stored image; 1 or 3 channels
  std::int64_t size = 0;                             ///< height and width of the result
  ImageLayout layout = ImageLayout::nhwc;
  std::vector<double> mean, std;  ///< per channel (1 or 3 values), of pixel / 255
};

/// Resizes bilinearly with half-pixel centres and without antialiasing (torch's upsample_bilinear2d with
/// align_corners=false), then (v / 255 - mean) / std; one channel is replicated to three. An image of the wanted size
/// is not resampled. All arithmetic is in T (float or double). Immutable: threads may share one.
template <class T>
class Preprocessor {
 public:
  /// \throws UsageError when mean or std do not fit the channels.
  explicit Preprocessor(const PreprocessOptions& options);

  /// `image`: height * width * channels bytes; `result`: 3 * size * size values in the layout.
  void operator()(const std::uint8_t* image, T* result) const;

 private:
  struct Tap {
    std::int64_t low, high;
    T weight;  ///< of `high`
  };
  static std::vector<Tap> taps(std::int64_t from, std::int64_t to);
  void resize_row(const std::uint8_t* row, T* out) const;
  void write_row(const T* row, std::int64_t y, T* result) const;

  PreprocessOptions options_;
  std::vector<Tap> rows_, columns_;
  std::vector<T> mean_, std_;  ///< three values each
};

extern template class Preprocessor<float>;
extern template class Preprocessor<double>;

}  // namespace multicard
