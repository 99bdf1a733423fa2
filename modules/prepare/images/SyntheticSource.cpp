#include "prepare/images/SyntheticSource.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/SplitMix64.hpp"

namespace multicard {

namespace {

/// A pattern is interpolated between this many values along each side.
constexpr std::int64_t kKnots = 4;
constexpr std::int64_t kOne = 256;
constexpr std::uint64_t kPatternKey = 0x7061747465726e73u, kNoiseKey = 0x6e6f697365u;

using Pattern = std::array<std::int64_t, kKnots * kKnots * 3>;

Pattern pattern_of(std::int64_t label) {
  Pattern knots;
  for (std::size_t i = 0; i < knots.size(); ++i)
    knots[i] =
        64 + static_cast<std::int64_t>(below(splitmix64(kPatternKey + static_cast<std::uint64_t>(label), i), 128));
  return knots;
}

struct Place {
  std::int64_t knot, fraction;  ///< fraction of kOne
};

// Fixed point with 8 binary places: floating-point interpolation could round differently with other compilers.
Place place_of(std::int64_t coordinate, std::int64_t size) {
  const std::int64_t along = coordinate * (kKnots - 1) * kOne / std::max<std::int64_t>(1, size - 1);
  const std::int64_t knot = std::min(along / kOne, kKnots - 2);
  return {knot, along - knot * kOne};
}

std::vector<Place> places(std::int64_t size) {
  std::vector<Place> found;
  for (std::int64_t i = 0; i < size; ++i)
    found.push_back(place_of(i, size));
  return found;
}

using PatternRow = std::array<std::int64_t, kKnots * 3>;

/// The pattern along one row of the image, in units of 1 / kOne.
PatternRow row_of(const Pattern& knots, Place y) {
  PatternRow row;
  const auto first = static_cast<std::size_t>(y.knot) * row.size();
  for (std::size_t i = 0; i < row.size(); ++i)
    row[i] = knots[first + i] * (kOne - y.fraction) + knots[first + row.size() + i] * y.fraction;
  return row;
}

std::int64_t value_of(const PatternRow& row, Place x, std::int64_t channel) {
  const auto left = static_cast<std::size_t>(3 * x.knot + channel);
  return (row[left] * (kOne - x.fraction) + row[left + 3] * x.fraction) / (kOne * kOne);
}

/// Noise as a function of key and place.
class Noise {
 public:
  explicit Noise(std::uint64_t key) : key_(key) {}

  /// The next number from -reach to reach.
  std::int64_t next(std::int64_t reach) {
    // Eight bytes from every random number.
    bits_ = count_ % 8 == 0 ? splitmix64(key_, count_ / 8) : bits_ >> 8;
    ++count_;
    // Multiplication and division instead of a remainder, so that the values are spread over the whole range as evenly
    // as 256 byte values allow.
    return static_cast<std::int64_t>(bits_ & 0xff) * (2 * reach + 1) / 256 - reach;
  }

 private:
  std::uint64_t key_, bits_ = 0, count_ = 0;
};

}  // namespace

SyntheticSource::SyntheticSource(std::int64_t num_images, std::int64_t num_classes, std::int64_t size)
    : num_images_(num_images), num_classes_(num_classes), shape_{size, size, 3} {}

std::string SyntheticSource::name_of(std::int64_t index) const {
  return fmt::format("synthetic image {}", index);
}

Image SyntheticSource::read(std::int64_t index) const {
  constexpr std::int64_t kBrightness = 16, kNoise = 48;
  const Pattern knots = pattern_of(label(index));
  const std::vector<Place> along = places(shape_.width);
  Noise noise(splitmix64(kNoiseKey, static_cast<std::uint64_t>(index)));
  const std::int64_t brightness = noise.next(kBrightness);
  Image image{shape_, {}};
  image.pixels.reserve(static_cast<std::size_t>(shape_.num_bytes()));
  for (const Place y : along) {
    const PatternRow row = row_of(knots, y);
    for (const Place x : along)
      for (std::int64_t channel = 0; channel < 3; ++channel) {
        const std::int64_t value = value_of(row, x, channel) + brightness + noise.next(kNoise);
        image.pixels.push_back(static_cast<std::uint8_t>(std::clamp<std::int64_t>(value, 0, 255)));
      }
  }
  return image;
}

std::vector<std::string> SyntheticSource::class_names() const {
  std::vector<std::string> names;
  for (std::int64_t label = 0; label < num_classes_; ++label)
    names.push_back(std::to_string(label));
  return names;
}

std::string SyntheticSource::description() const {
  return fmt::format("synthetic ({} images, {} classes, {} x {})", num_images_, num_classes_, shape_.height,
                     shape_.width);
}

}  // namespace multicard
