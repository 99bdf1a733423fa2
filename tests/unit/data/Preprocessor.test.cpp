#include "data/loading/Preprocessor.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/flip.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/item.h>
#include <ATen/ops/max.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "unit/data/test_files.hpp"

namespace multicard {
namespace {

struct Case {
  std::int64_t height, width, channels, size;
  ImageLayout layout;
};

PreprocessOptions options_of(const Case& what) {
  return {what.height, what.width, what.channels, what.size, {0.2, 0.4, 0.6}, {0.5, 0.25, 0.3}, what.layout};
}

template <class T>
at::Tensor processed(const Case& what, const test::Bytes& pixels, std::int64_t num_images) {
  const Preprocessor<T> preprocessor(options_of(what));
  const auto type = std::is_same_v<T, double> ? at::kDouble : at::kFloat;
  const bool nhwc = what.layout == ImageLayout::nhwc;
  at::Tensor out = at::empty({num_images, 3, what.size, what.size}, at::TensorOptions(type),
                             nhwc ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous);
  preprocessor.run(pixels.data(), num_images, out.mutable_data_ptr<T>());
  return out;
}

/// The same by torch's operations.
at::Tensor expected(const Case& what, test::Bytes pixels, std::int64_t num_images, at::ScalarType type) {
  at::Tensor images = at::from_blob(pixels.data(), {num_images, what.height, what.width, what.channels}, at::kByte)
                          .permute({0, 3, 1, 2});
  images = images.to(type).expand({num_images, 3, what.height, what.width}).contiguous();
  if (what.height != what.size || what.width != what.size)
    images = at::upsample_bilinear2d(images, {what.size, what.size}, false);
  const at::Tensor mean = at::tensor({0.2, 0.4, 0.6}, type).view({1, 3, 1, 1});
  const at::Tensor std = at::tensor({0.5, 0.25, 0.3}, type).view({1, 3, 1, 1});
  return (images / 255 - mean) / std;
}

double difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item().toDouble();
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const auto layout : {ImageLayout::nhwc, ImageLayout::nchw})
    for (const std::int64_t channels : {1, 3})
      for (const auto& [height, width, size] :
           {std::tuple{28, 28, 100}, {32, 32, 32}, {100, 100, 37}, {5, 9, 8}, {8, 3, 8}, {1, 1, 4}, {7, 6, 1}})
        cases.push_back({height, width, channels, size, layout});
  return cases;
}

TEST(Preprocessor, DoesWhatTorchDoes) {
  for (const Case& what : all_cases()) {
    constexpr std::int64_t kImages = 3;
    const test::Bytes pixels =
        test::pattern(static_cast<std::size_t>(kImages * what.height * what.width * what.channels));

    const at::Tensor got_float = processed<float>(what, pixels, kImages);
    const at::Tensor got_double = processed<double>(what, pixels, kImages);

    const std::string name = std::to_string(what.height) + "x" + std::to_string(what.width) + "x" +
                             std::to_string(what.channels) + " to " + std::to_string(what.size);
    EXPECT_LE(difference(got_float, expected(what, pixels, kImages, at::kFloat)), 1e-5) << name;
    EXPECT_LE(difference(got_double, expected(what, pixels, kImages, at::kDouble)), 1e-13) << name;
  }
}

TEST(Preprocessor, LeavesImagesOfTheRightSizeExact) {
  const Case what{4, 4, 3, 4, ImageLayout::nchw};
  test::Bytes pixels = test::pattern(48);

  const at::Tensor got = processed<float>(what, pixels, 1);

  const at::Tensor bytes = at::from_blob(pixels.data(), {1, 4, 4, 3}, at::kByte).permute({0, 3, 1, 2}).to(at::kFloat);
  const at::Tensor mean = at::tensor({0.2, 0.4, 0.6}, at::kFloat).view({1, 3, 1, 1});
  const at::Tensor std = at::tensor({0.5, 0.25, 0.3}, at::kFloat).view({1, 3, 1, 1});
  EXPECT_TRUE(at::equal(got, (bytes / 255 - mean) / std));
}

TEST(Preprocessor, TreatsEveryImageByItself) {
  const Case what{9, 7, 3, 12, ImageLayout::nhwc};
  const test::Bytes pixels = test::pattern(4 * 9 * 7 * 3);
  const test::Bytes third(pixels.begin() + 2 * 9 * 7 * 3, pixels.begin() + 3 * 9 * 7 * 3);

  const at::Tensor together = processed<float>(what, pixels, 4), alone = processed<float>(what, third, 1);

  EXPECT_TRUE(at::equal(together.narrow(0, 2, 1), alone));
}

/// The pixels of a window by themselves, mirrored if asked.
test::Bytes cut_out(const test::Bytes& pixels, const Case& what, const ImageWindow& window) {
  test::Bytes cut;
  for (std::int32_t y = 0; y < window.height; ++y)
    for (std::int32_t x = 0; x < window.width; ++x)
      for (std::int64_t channel = 0; channel < what.channels; ++channel)
        cut.push_back(pixels[static_cast<std::size_t>(
            ((window.top + y) * what.width + window.left + x) * what.channels + channel)]);
  return cut;
}

TEST(Preprocessor, TreatsAWindowAsAnImageAndMirrorsWhatComesOut) {
  for (const auto layout : {ImageLayout::nhwc, ImageLayout::nchw})
    for (const std::int64_t channels : {1, 3}) {
      const Case what{20, 30, channels, 12, layout};
      const test::Bytes pixels = test::pattern(static_cast<std::size_t>(20 * 30 * channels));
      for (ImageWindow window :
           {ImageWindow{0, 0, 20, 30}, {3, 7, 12, 12}, {19, 29, 1, 1}, {5, 0, 2, 30}, {0, 11, 20, 9}}) {
        const Case cut{window.height, window.width, channels, 12, layout};
        const at::Tensor want = processed<float>(cut, cut_out(pixels, what, window), 1);
        for (const Mirror mirror : {Mirror::no, Mirror::yes}) {
          window.mirror = mirror;
          at::Tensor got = at::empty_like(want);
          Preprocessor<float>(options_of(what))
              .run(pixels.data(), std::span(&window, 1), got.mutable_data_ptr<float>());
          EXPECT_TRUE(at::equal(mirror == Mirror::yes ? got.flip({3}) : got, want)) << window.top << " " << window.left;
        }
      }
    }
}

TEST(Preprocessor, UsesEveryImagesOwnWindow) {
  const Case what{9, 7, 3, 12, ImageLayout::nhwc};
  const test::Bytes pixels = test::pattern(3 * 9 * 7 * 3);
  const std::vector<ImageWindow> windows{{0, 0, 9, 7}, {2, 3, 4, 4, Mirror::yes}, {1, 1, 5, 6}};
  const Preprocessor<double> preprocessor(options_of(what));
  std::vector<double> together(3 * 12 * 12 * 3), alone(12 * 12 * 3);

  preprocessor.run(pixels.data(), windows, together.data());

  for (std::size_t image = 0; image < 3; ++image) {
    preprocessor.run(pixels.data() + image * 9 * 7 * 3, std::span(windows).subspan(image, 1), alone.data());
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + static_cast<std::ptrdiff_t>(image * 432)));
  }
}

TEST(Preprocessor, TakesOneValueForAllChannelsAndNoSpreadAsOne) {
  PreprocessOptions options{2, 2, 1, 2, {0.5}, {0.0}, ImageLayout::nchw};
  std::vector<float> out(12);

  Preprocessor<float>(options).run(test::Bytes{0, 255, 51, 102}.data(), 1, out.data());

  for (std::size_t channel = 0; channel < 3; ++channel) {
    EXPECT_FLOAT_EQ(out[4 * channel + 0], -0.5f);
    EXPECT_FLOAT_EQ(out[4 * channel + 1], 0.5f);
    EXPECT_FLOAT_EQ(out[4 * channel + 2], -0.3f);
  }
}

TEST(Preprocessor, RefusesWhatItCannotNormalise) {
  EXPECT_THROW(Preprocessor<float>({2, 2, 1, 2, {0.5, 0.5}, {1.0}, ImageLayout::nchw}), UsageError);
  EXPECT_THROW(Preprocessor<float>({2, 2, 1, 2, {}, {1.0}, ImageLayout::nchw}), UsageError);
  EXPECT_THROW(Preprocessor<float>({2, 2, 4, 2, {0.5}, {1.0}, ImageLayout::nchw}), DataError);
}

}  // namespace
}  // namespace multicard
