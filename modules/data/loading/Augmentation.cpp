#include "data/loading/Augmentation.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/SplitMix64.hpp"

namespace multicard {

namespace {

constexpr int kTries = 10;
constexpr std::uint64_t kPurpose = 1;  // 0 is the order of rows
constexpr std::uint64_t kFlip = 0;
// The numbers are addressed by purpose and try, not taken from a stream: a crop that succeeds at once leaves the flip
// of the same row as it is, and a new kind of change must take numbers that no other uses.
constexpr std::uint64_t kNumbersOfTry = 4;

/// 53 random bits as a number in [0, 1).
double unit(std::uint64_t random) {
  return static_cast<double>(random >> 11) * 0x1p-53;
}

double between(double low, double high, std::uint64_t random) {
  return low + (high - low) * unit(random);
}

/// One of 0 ... last.
std::int32_t up_to(std::int64_t last, std::uint64_t random) {
  return static_cast<std::int32_t>(below(random, static_cast<std::uint64_t>(last) + 1));
}

/// Halves go to the even number, as in Python. llrint follows the rounding mode of the process, which is to nearest,
/// ties to even, unless it is changed.
std::int64_t rounded(double value) {
  return std::llrint(value);
}

void check(const AugmentOptions& options) {
  if (!(options.horizontal_flip >= 0 && options.horizontal_flip <= 1))
    throw UsageError(fmt::format("a horizontal flip with probability {} is requested", options.horizontal_flip));
  if (!options.crop) return;
  const RandomResizedCrop& crop = *options.crop;
  if (!(crop.scale_min > 0 && crop.scale_min <= crop.scale_max && crop.scale_max <= 1))
    throw UsageError(fmt::format("crops of {} to {} of the image's area are requested", crop.scale_min, crop.scale_max),
                     "fractions of the area must increase within (0, 1]");
  if (!(crop.ratio_min > 0 && crop.ratio_min <= crop.ratio_max && std::isfinite(crop.ratio_max)))
    throw UsageError(fmt::format("crops of width / height {} to {} are requested", crop.ratio_min, crop.ratio_max),
                     "ratios must increase and be above 0");
}

}  // namespace

Augmentation::Augmentation(const AugmentOptions& options, std::uint64_t seed, std::int64_t height, std::int64_t width)
    : options_(options), key_(splitmix64(seed, kPurpose)), height_(height), width_(width) {
  check(options);
}

ImageWindow Augmentation::window(std::int64_t epoch, std::int64_t row) const {
  const std::uint64_t epoch_key = splitmix64(key_, static_cast<std::uint64_t>(epoch));
  const std::uint64_t key = splitmix64(epoch_key, static_cast<std::uint64_t>(row));
  ImageWindow window{0, 0, static_cast<std::int32_t>(height_), static_cast<std::int32_t>(width_), Mirror::no};
  if (options_.crop) window = crop(key);
  if (unit(splitmix64(key, kFlip)) < options_.horizontal_flip) window.mirror = Mirror::yes;
  return window;
}

// With area A and ratio r = width / height: width = sqrt(A r), height = sqrt(A / r). The ratio is uniform in its
// logarithm, so that 3/4 is as probable as 4/3.
ImageWindow Augmentation::crop(std::uint64_t key) const {
  const RandomResizedCrop& range = *options_.crop;
  const double area = static_cast<double>(height_ * width_);
  for (std::uint64_t attempt = 0; attempt < kTries; ++attempt) {
    const auto random = [&](std::uint64_t k) { return splitmix64(key, kFlip + 1 + attempt * kNumbersOfTry + k); };
    const double target = area * between(range.scale_min, range.scale_max, random(0));
    const double ratio = std::exp(between(std::log(range.ratio_min), std::log(range.ratio_max), random(1)));
    const std::int64_t width = rounded(std::sqrt(target * ratio)), height = rounded(std::sqrt(target / ratio));
    if (width < 1 || width > width_ || height < 1 || height > height_) continue;
    return {up_to(height_ - height, random(2)), up_to(width_ - width, random(3)), static_cast<std::int32_t>(height),
            static_cast<std::int32_t>(width), Mirror::no};
  }
  return central_crop();
}

// As torchvision: only an image that is itself outside the allowed ratios is cut, along its longer side.
ImageWindow Augmentation::central_crop() const {
  const RandomResizedCrop& range = *options_.crop;
  const double image_height = static_cast<double>(height_), image_width = static_cast<double>(width_);
  const double ratio = image_width / image_height;
  std::int64_t height = height_, width = width_;
  if (ratio < range.ratio_min) height = std::clamp<std::int64_t>(rounded(image_width / range.ratio_min), 1, height_);
  if (ratio > range.ratio_max) width = std::clamp<std::int64_t>(rounded(image_height * range.ratio_max), 1, width_);
  return {static_cast<std::int32_t>((height_ - height) / 2), static_cast<std::int32_t>((width_ - width) / 2),
          static_cast<std::int32_t>(height), static_cast<std::int32_t>(width), Mirror::no};
}

}  // namespace multicard
