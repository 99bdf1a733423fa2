#include "data/loading/Augmentation.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "base/SplitMix64.hpp"

namespace multicard {
namespace {

AugmentOptions crops(double scale_min, double scale_max, double ratio_min, double ratio_max) {
  return {0, RandomResizedCrop{scale_min, scale_max, ratio_min, ratio_max}};
}

/// The header's words and torchvision's get_params, written down once more.
ImageWindow reference(const AugmentOptions& options, std::uint64_t seed, std::uint64_t epoch, std::uint64_t row,
                      std::int64_t height, std::int64_t width) {
  const std::uint64_t key = splitmix64(splitmix64(splitmix64(seed, 1), epoch), row);
  std::uint64_t k = 0;
  const auto uniform = [&] { return std::ldexp(static_cast<double>(splitmix64(key, k++) >> 11), -53); };
  ImageWindow window{0, 0, static_cast<std::int32_t>(height), static_cast<std::int32_t>(width), Mirror::no};
  if (uniform() < options.horizontal_flip) window.mirror = Mirror::yes;
  if (!options.crop) return window;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area = static_cast<double>(height * width) *
                        (options.crop->scale_min + (options.crop->scale_max - options.crop->scale_min) * uniform());
    const double low = std::log(options.crop->ratio_min), high = std::log(options.crop->ratio_max);
    const double ratio = std::exp(low + (high - low) * uniform());
    const double top = uniform(), left = uniform();
    const double w = std::nearbyint(std::sqrt(area * ratio)), h = std::nearbyint(std::sqrt(area / ratio));
    if (!(0 < w && w <= static_cast<double>(width) && 0 < h && h <= static_cast<double>(height))) continue;
    window.height = static_cast<std::int32_t>(h);
    window.width = static_cast<std::int32_t>(w);
    window.top = static_cast<std::int32_t>(top * static_cast<double>(height - window.height + 1));
    window.left = static_cast<std::int32_t>(left * static_cast<double>(width - window.width + 1));
    return window;
  }
  ADD_FAILURE() << "no try fits";
  return window;
}

TEST(Augmentation, DrawsWhatItsFormulasSay) {
  AugmentOptions options = crops(0.08, 1, 0.75, 4.0 / 3);
  options.horizontal_flip = 0.5;
  for (const auto& [height, width] : {std::pair{100, 100}, {224, 160}, {31, 40}}) {
    const Augmentation augmentation(options, 7, height, width);
    for (std::int64_t epoch = 0; epoch < 3; ++epoch)
      for (std::int64_t row = 0; row < 200; ++row)
        EXPECT_EQ(augmentation.window(epoch, row), reference(options, 7, static_cast<std::uint64_t>(epoch),
                                                             static_cast<std::uint64_t>(row), height, width))
            << epoch << " " << row;
  }
}

/// Means and quantiles of what torchvision 0.26 draws (200,000 draws of RandomResizedCrop.get_params each).
TEST(Augmentation, IsDistributedAsTorchvisions) {
  struct Case {
    std::int64_t height, width;
    AugmentOptions options;
    double mean_area, area_10, area_50, area_90, mean_log_ratio, sd_log_ratio;
  };
  for (const Case& what :
       {Case{100, 100, crops(0.08, 1, 0.75, 4.0 / 3), 0.48298, 0.1599, 0.481, 0.8019, -0.00011, 0.15941},
        Case{60, 90, crops(0.3, 0.9, 0.5, 1.5), 0.50988, 0.33185, 0.48, 0.74296, 0.04177, 0.26582}}) {
    constexpr std::size_t kDraws = 20000;
    const Augmentation augmentation(what.options, 3, what.height, what.width);
    std::vector<double> areas;
    double area_sum = 0, ratio_sum = 0, ratio_squares = 0, place_sum = 0;
    for (std::size_t row = 0; row < kDraws; ++row) {
      const ImageWindow window = augmentation.window(0, static_cast<std::int64_t>(row));
      ASSERT_GE(window.top, 0);
      ASSERT_LE(window.top + window.height, what.height);
      ASSERT_GE(window.left, 0);
      ASSERT_LE(window.left + window.width, what.width);
      const double log_ratio = std::log(static_cast<double>(window.width) / window.height);
      areas.push_back(static_cast<double>(window.height) * window.width /
                      static_cast<double>(what.height * what.width));
      area_sum += areas.back();
      ratio_sum += log_ratio;
      ratio_squares += log_ratio * log_ratio;
      place_sum +=
          static_cast<double>(window.left) / std::max<double>(1, static_cast<double>(what.width - window.width));
    }
    std::sort(areas.begin(), areas.end());
    const double n = kDraws, mean_ratio = ratio_sum / n;
    EXPECT_NEAR(area_sum / n, what.mean_area, 0.008);
    EXPECT_NEAR(areas[kDraws / 10], what.area_10, 0.01);
    EXPECT_NEAR(areas[kDraws / 2], what.area_50, 0.015);
    EXPECT_NEAR(areas[kDraws / 10 * 9], what.area_90, 0.015);
    EXPECT_NEAR(mean_ratio, what.mean_log_ratio, 0.008);
    EXPECT_NEAR(std::sqrt(ratio_squares / n - mean_ratio * mean_ratio), what.sd_log_ratio, 0.008);
    EXPECT_NEAR(place_sum / n, 0.5, 0.015);
  }
}

TEST(Augmentation, FallsBackToTheCentreWhenNoTryFits) {
  // torchvision: i = 0, j = 43, h = 10, w = 13, whatever is drawn.
  EXPECT_EQ(Augmentation(crops(0.5, 1, 0.75, 4.0 / 3), 1, 10, 100).window(0, 0), (ImageWindow{0, 43, 10, 13}));
  EXPECT_EQ(Augmentation(crops(0.5, 1, 0.75, 4.0 / 3), 1, 100, 10).window(0, 0), (ImageWindow{43, 0, 13, 10}));
  // Areas that round to nothing, and a ratio that is allowed: the whole image.
  EXPECT_EQ(Augmentation(crops(1e-6, 2e-6, 0.75, 4.0 / 3), 1, 10, 10).window(0, 0), (ImageWindow{0, 0, 10, 10}));
  EXPECT_EQ(Augmentation(crops(1, 1, 5, 5), 1, 1, 1).window(0, 0), (ImageWindow{0, 0, 1, 1}));
}

TEST(Augmentation, MirrorsAsOftenAsAsked) {
  for (const double probability : {0.0, 0.3, 1.0}) {
    const Augmentation augmentation({probability, std::nullopt}, 5, 8, 9);
    int mirrored = 0;
    for (std::int64_t row = 0; row < 10000; ++row) {
      ImageWindow window = augmentation.window(2, row);
      mirrored += window.mirror == Mirror::yes ? 1 : 0;
      window.mirror = Mirror::no;
      ASSERT_EQ(window, (ImageWindow{0, 0, 8, 9, Mirror::no}));
    }
    EXPECT_NEAR(mirrored / 10000.0, probability, probability == 0.3 ? 0.015 : 0.0);
  }
}

TEST(Augmentation, DiffersBetweenSeedsEpochsAndRows) {
  std::set<std::vector<std::int32_t>> seen;
  for (std::uint64_t seed = 0; seed < 4; ++seed)
    for (std::int64_t epoch = 0; epoch < 4; ++epoch)
      for (std::int64_t row = 0; row < 4; ++row) {
        const ImageWindow window = Augmentation(crops(0.1, 1, 0.5, 2), seed, 1000, 1000).window(epoch, row);
        seen.insert({window.top, window.left, window.height, window.width});
      }
  EXPECT_EQ(seen.size(), 64u);
}

TEST(Augmentation, RefusesWhatCannotBeDrawn) {
  const auto make = [](const AugmentOptions& options) { return Augmentation(options, 1, 8, 8); };
  EXPECT_THROW(make({-0.1, std::nullopt}), UsageError);
  EXPECT_THROW(make({1.1, std::nullopt}), UsageError);
  EXPECT_THROW(make({std::nan(""), std::nullopt}), UsageError);
  EXPECT_THROW(make(crops(0, 1, 1, 1)), UsageError);
  EXPECT_THROW(make(crops(0.5, 0.4, 1, 1)), UsageError);
  EXPECT_THROW(make(crops(0.5, 1.1, 1, 1)), UsageError);
  EXPECT_THROW(make(crops(0.5, 1, 0, 1)), UsageError);
  EXPECT_THROW(make(crops(0.5, 1, 2, 1)), UsageError);
}

}  // namespace
}  // namespace multicard
