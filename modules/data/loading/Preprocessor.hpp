#pragma once
/// \file From stored bytes to the network's input, on the CPU.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "data/loading/Augmentation.hpp"

namespace multicard {

/// The memory order of a batch of images.
enum class ImageLayout { nhwc, nchw };

/// Where images are resized and normalised.
enum class InputPipeline {
  host,   ///< by the loader's threads
  device  ///< on the compute device, by DevicePreprocessor: the loader hands out bytes
};

/// What input processing does to an image of height x width x channels bytes.
struct PreprocessOptions {
  std::int64_t height = 0, width = 0;
  std::int64_t channels = 1;      ///< 1 or 3; one channel is replicated to three
  std::int64_t size = 0;          ///< height and width of the result
  std::vector<double> mean, std;  ///< of pixel / 255; one value for all channels or three; a std of 0 counts as 1
  ImageLayout layout = ImageLayout::nhwc;
};

/// Resizes bilinearly (half-pixel centres, no antialiasing: torch's upsample_bilinear2d with align_corners false; an
/// image that has the size already is left as it is), then computes (v / 255 - mean) / std in T, float or double. Every
/// image is computed by itself, so results do not depend on batches or threads.
template <class T>
class Preprocessor {
 public:
  static constexpr std::int64_t kChannels = 3;
  using Table = std::array<std::array<T, 256>, kChannels>;

  /// \throws DataError for channels other than 1 and 3, UsageError for the wrong number of mean or std values.
  explicit Preprocessor(const PreprocessOptions& options);

  /// Values of one resulting image.
  std::int64_t num_values() const { return kChannels * options_.size * options_.size; }
  /// The normalised value of every byte, per output channel.
  const Table& table() const { return normalised_; }
  /// `num_images` images after each other, from `pixels` to `out`.
  void run(const std::uint8_t* pixels, std::int64_t num_images, T* out) const;
  /// As many images as there are windows; of each only its window is resized, as if it were a whole image.
  void run(const std::uint8_t* pixels, std::span<const ImageWindow> windows, T* out) const;

 private:
  /// Where an output coordinate lies between two input coordinates.
  struct Tap {
    std::int64_t low, high;
    T low_weight, high_weight;
  };
  using Taps = std::vector<Tap>;
  static Taps taps(std::int64_t from, std::int64_t to);
  std::int64_t bytes_per_image() const { return options_.height * options_.width * options_.channels; }
  std::vector<T> scratch() const;
  void normalise_only(const std::uint8_t* pixels, Mirror mirror, T* out) const;
  void resize(const std::uint8_t* pixels, const Taps& rows, const Taps& columns, T* out, std::vector<T>& scratch) const;
  void stretch_row(const std::uint8_t* row, const Taps& columns, T* out) const;

  PreprocessOptions options_;
  Table normalised_;
  Taps rows_, columns_;  ///< of whole images
};

extern template class Preprocessor<float>;
extern template class Preprocessor<double>;

}  // namespace multicard
