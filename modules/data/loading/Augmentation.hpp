#pragma once
/// \file Random changes of training images.

#include <cstdint>
#include <optional>

namespace multicard {

enum class Mirror : std::int32_t { no, yes };

/// The part of a stored image that is used, in its pixels, and whether it is mirrored left to right once it has its
/// final size. Five int32 without gaps: a row of a tensor [n, 5].
struct ImageWindow {
  std::int32_t top = 0, left = 0;
  std::int32_t height = 0, width = 0;  ///< at least 1
  Mirror mirror = Mirror::no;

  static constexpr std::int64_t kNumFields = 5;
  bool operator==(const ImageWindow&) const = default;
};
static_assert(sizeof(ImageWindow) == ImageWindow::kNumFields * sizeof(std::int32_t));

struct RandomResizedCrop {
  double scale_min = 0.08, scale_max = 1;               ///< part of the image's area
  double ratio_min = 3.0 / 4.0, ratio_max = 4.0 / 3.0;  ///< width / height
};

struct AugmentOptions {
  double horizontal_flip = 0;  ///< probability
  std::optional<RandomResizedCrop> crop;

  bool changes_images() const { return horizontal_flip > 0 || crop; }
};

/// How row `row` of a set of images of height x width is seen in `epoch`: a function of the arguments alone, so the
/// same on any rank or thread and after resuming. The crop follows torchvision's RandomResizedCrop: the area is uniform
/// in its range, the logarithm of width / height uniform in its own, ten tries, then the largest central window of an
/// allowed ratio.
///
/// Random number k of the row is u_k = splitmix64(splitmix64(splitmix64(splitmix64(seed, 1), epoch), row), k): the flip
/// is u_0, try t of the crop uses u_(4t+1) ... u_(4t+4) for area, ratio, top and left.
/// \throws UsageError for a probability outside [0, 1] and ranges that are empty or not above 0.
class Augmentation {
 public:
  Augmentation(const AugmentOptions& options, std::uint64_t seed, std::int64_t height, std::int64_t width);

  ImageWindow window(std::int64_t epoch, std::int64_t row) const;

 private:
  ImageWindow crop(std::uint64_t key) const;
  ImageWindow central_crop() const;

  AugmentOptions options_;
  std::uint64_t key_;
  std::int64_t height_, width_;
};

}  // namespace multicard
