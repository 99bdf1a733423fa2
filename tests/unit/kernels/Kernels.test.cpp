#include <cmath>
#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "kernels/cpu/Gemm.hpp"
#include "kernels/cpu/ImageLayout.hpp"
#include "kernels/cpu/TensorValues.hpp"
#include "unit/kernels/available_kernels.hpp"

namespace multicard {
namespace {

constexpr auto kDouble = at::kDouble;

template <typename S>
constexpr at::ScalarType kDtype = at::kBFloat16;
template <>
constexpr at::ScalarType kDtype<float> = at::kFloat;
template <>
constexpr at::ScalarType kDtype<double> = at::kDouble;
template <>
constexpr at::ScalarType kDtype<Float16> = at::kHalf;

// Normal values; or whole numbers so small that every result is exact, also in 16 bits.
enum class Inputs { normal, whole };

// Results of every kernel on one set of inputs, whose sizes leave remainders in every loop. Inputs are representable in
// bfloat16, so that they are the same for all types.
template <typename S>
class Probe {
  using C = Compute<S>;

 public:
  Probe(const CpuKernels<S>& kernels, Inputs inputs) : inputs_(inputs), rows_(*kernels.rows), planes_(*kernels.planes) {
    at::manual_seed(1);
    for (at::Tensor* tensor : {&x_, &dy_})
      *tensor = values(kRows * kChannels).to(kDtype<S>);
    for (at::Tensor* tensor : {&scale_, &mean_, &bias_, &slope_, &offset_, &filter_})
      *tensor = values(9 * kChannels).to(kDtype<C>);
    run_rows();
    run_filters();
    run_planes();
  }
  const std::vector<at::Tensor>& results() const { return results_; }

 private:
  static constexpr std::int64_t kRows = 35, kChannels = 16 + 8 + 3;
  static constexpr std::int64_t kMomentRows = 32;  // a power of two keeps means of whole numbers exact

  at::Tensor values(std::int64_t size) const {
    if (inputs_ == Inputs::whole) return at::randint(-3, 4, {size}).to(kDouble);
    return (at::randn({size}, at::TensorOptions().dtype(kDouble)) * 2).to(at::kBFloat16);
  }
  static const S* in(const at::Tensor& tensor) { return values_of<S>(tensor); }
  static const C* wide(const at::Tensor& tensor) { return values_of<C>(tensor); }
  template <typename T>
  T* out(std::int64_t size) {
    return mutable_values_of<T>(results_.emplace_back(at::zeros({size}, at::TensorOptions().dtype(kDtype<T>))));
  }
  double* sums() { return out<double>(kChannels); }

  void run_rows() {
    const std::int64_t size = kRows * kChannels;
    const at::Tensor wide_dy = dy_.to(kDtype<C>);
    const GradientView<C> gradient{wide(scale_), wide(slope_), wide(offset_), wide(mean_)};
    for (const Activation activation : {Activation::none, Activation::relu6}) {
      const AffineView<C> affine{wide(scale_), wide(mean_), wide(bias_), activation};
      rows_.moments(in(x_), kMomentRows, kChannels, sums(), sums());
      rows_.normalise(in(x_), kRows, kChannels, affine, nullptr, out<S>(size));
      rows_.normalise_wide(in(x_), kRows, kChannels, affine, out<C>(size));
      rows_.gradient_sums(in(dy_), in(x_), kRows, kChannels, affine, sums(), sums(), nullptr);
      rows_.gradient_sums(in(dy_), in(x_), kRows, kChannels, affine, sums(), sums(), out<S>(size));
      rows_.gradient_sums_wide(wide(wide_dy), in(x_), kRows, kChannels, affine, sums(), sums(), out<S>(size));
      rows_.input_gradient(in(dy_), in(x_), kRows, kChannels, affine, gradient, out<S>(size));
    }
    const AffineView<C> linear{wide(scale_), wide(mean_), wide(bias_), Activation::none};
    rows_.normalise(in(x_), kRows, kChannels, linear, in(dy_), out<S>(size));
    rows_.input_gradient_wide(in(dy_), in(x_), kRows, kChannels, gradient, out<C>(size));
  }

  void run_filters() {
    constexpr std::int64_t kWidth = 9, kRow = (kWidth + 2) * kChannels;
    const at::Tensor wide_x = x_.to(kDtype<C>), wide_dy = dy_.to(kDtype<C>);
    const C *image = wide(wide_x), *filter = wide(filter_);
    for (const std::int64_t stride : {1, 2}) {
      const FilterRows<C> rows{{image, image + kRow, image + 2 * kRow}};
      const std::int64_t width_out = (kWidth - 1) / stride + 1;
      rows_.filter_row(rows, filter, width_out, kChannels, stride, out<S>(width_out * kChannels));
      rows_.filter_gradient_row(rows, wide(wide_dy), width_out, kChannels, stride, out<C>(9 * kChannels));
      for (int count = 1; count <= 3; ++count) {
        if ((stride == 1) != (count == 3)) continue;
        const GradientRows<C> gradients{
            {image, image + kRow, image + 2 * kRow}, {filter, filter + 3 * kChannels, filter + 6 * kChannels}, count};
        rows_.filter_input_row(gradients, kWidth, kChannels, stride, out<S>(kWidth * kChannels));
      }
    }
  }

  void run_planes() {
    const std::int64_t size = kRows * kChannels;
    const bool whole = inputs_ == Inputs::whole;
    const C scale = whole ? 2 : C(0.7), mean = whole ? 1 : C(0.3), bias = whole ? 3 : C(1.5);
    for (const Activation activation : {Activation::none, Activation::relu6}) {
      const PlaneAffine<C> affine{scale, mean, bias, activation};
      planes_.moments(in(x_), 512, sums(), sums());
      planes_.moments(in(x_), 8, sums(), sums());
      planes_.normalise(in(x_), size, affine, nullptr, out<S>(size));
      planes_.gradient_sums(in(dy_), in(x_), size, affine, sums(), sums());
      planes_.input_gradient(in(dy_), in(x_), size, affine, {scale, mean, -bias}, out<S>(size));
    }
    planes_.normalise(in(x_), size, {scale, mean, bias, Activation::none}, in(dy_), out<S>(size));
  }

  Inputs inputs_;
  const RowKernels<S>& rows_;
  const PlaneKernels<S>& planes_;
  at::Tensor x_, dy_, scale_, mean_, bias_, slope_, offset_, filter_;
  std::vector<at::Tensor> results_;
};

// How far sums of the type may lie apart, relative to the largest values, when they are taken in another order.
double rounding(at::ScalarType dtype) {
  return dtype == at::kDouble ? 1e-13 : 1e-5;
}

// Values of `a` may differ by `relative` of those of `b`, and by `near` of their scale.
void expect_near(const at::Tensor& a, const at::Tensor& b, double relative, double near, std::size_t index) {
  const at::Tensor expected = b.to(kDouble), distance = (a.to(kDouble) - expected).abs();
  const double scale = 1 + expected.abs().max().item<double>();
  EXPECT_LE((distance - relative * expected.abs()).max().item<double>(), near * scale) << index;
}

// Half a unit in the last place of values of 16 bits, relative to them; 0 for wider ones.
double half_a_unit(const at::Tensor& values) {
  return values.scalar_type() == at::kBFloat16 ? 0x1.0p-8 : values.scalar_type() == at::kHalf ? 0x1.0p-11 : 0.0;
}

template <typename S>
class Kernels : public testing::Test {};
using Types = testing::Types<float, double, Bfloat16, Float16>;
TYPED_TEST_SUITE(Kernels, Types);

TYPED_TEST(Kernels, AreTheSameInEveryInstructionSet) {
  const auto all = available_kernels<TypeParam>();
  const Probe<TypeParam> baseline(all.front(), Inputs::normal);
  for (const CpuKernels<TypeParam>& kernels : all) {
    const Probe<TypeParam> probe(kernels, Inputs::normal);
    for (std::size_t i = 0; i < probe.results().size(); ++i) {
      const double neighbour = 2 * half_a_unit(probe.results()[i]);  // what lies near a tie
      expect_near(probe.results()[i], baseline.results()[i], neighbour, rounding(kDtype<Compute<TypeParam>>), i);
    }
  }
}

TYPED_TEST(Kernels, AreExactWhereTheArithmeticIs) {
  const Probe<double> exact(InstructionSet<double>::baseline(), Inputs::whole);
  for (const CpuKernels<TypeParam>& kernels : available_kernels<TypeParam>()) {
    const Probe<TypeParam> probe(kernels, Inputs::whole);
    ASSERT_EQ(probe.results().size(), exact.results().size());
    for (std::size_t i = 0; i < probe.results().size(); ++i)
      EXPECT_TRUE(at::equal(probe.results()[i].to(kDouble), exact.results()[i])) << i;
  }
}

template <typename S>
class NarrowKernels : public testing::Test {};
using NarrowTypes = testing::Types<Bfloat16, Float16>;
TYPED_TEST_SUITE(NarrowKernels, NarrowTypes);

TYPED_TEST(NarrowKernels, RoundTheResultsOfFloat32) {
  const Probe<float> wide(InstructionSet<float>::baseline(), Inputs::normal);
  for (const CpuKernels<TypeParam>& kernels : available_kernels<TypeParam>()) {
    const Probe<TypeParam> probe(kernels, Inputs::normal);
    for (std::size_t i = 0; i < probe.results().size(); ++i)
      expect_near(probe.results()[i], wide.results()[i], half_a_unit(probe.results()[i]), rounding(at::kFloat), i);
  }
}

// Ties, neighbours of ties, the largest and the smallest numbers of both types of 16 bits, and what is none.
std::vector<float> numbers_to_round() {
  std::vector<float> numbers{0.0f,
                             1.0f + 0x1.0p-8f,
                             1.0f + 0x3.0p-8f,
                             1.0f + 0x1.0002p-8f,
                             1.0f + 0x1.0p-11f,
                             1.0f + 0x3.0p-11f,
                             1.0f + 0x1.002p-11f,
                             65504.0f,
                             65519.996f,  // below the tie with infinity
                             65520.0f,
                             65536.0f,
                             0x1.0p-14f,
                             0x1.ffcp-15f,
                             0x1.ffep-15f,  // a tie with the smallest normal number
                             0x1.8p-24f,
                             0x1.0p-25f,  // a tie with zero
                             0x1.0002p-25f,
                             0x1.0p-26f,
                             0x1.8p-133f,
                             0x1.cp-132f,
                             std::numeric_limits<float>::infinity(),
                             std::numeric_limits<float>::max(),
                             std::numeric_limits<float>::denorm_min(),
                             std::numeric_limits<float>::quiet_NaN()};
  for (int i = 0; i < 60; ++i)
    numbers.push_back(std::ldexp(1.0f + static_cast<float>(i) * 0x1.8p-12f, i - 30));
  const std::size_t size = numbers.size();
  for (std::size_t i = 0; i < size; ++i)
    numbers.push_back(-numbers[i]);
  return numbers;
}

TYPED_TEST(NarrowKernels, RoundToNearestEven) {
  std::vector<float> numbers = numbers_to_round();
  const auto size = static_cast<std::int64_t>(numbers.size());
  const at::Tensor expected = at::from_blob(numbers.data(), {size}, at::kFloat).to(kDtype<TypeParam>).to(at::kFloat);
  for (const CpuKernels<TypeParam>& kernels : available_kernels<TypeParam>()) {
    std::vector<TypeParam> rounded(numbers.size());
    std::vector<float> back(numbers.size());
    kernels.rows->narrow(numbers.data(), size, rounded.data());
    kernels.rows->widen(rounded.data(), size, back.data());
    for (std::int64_t i = 0; i < size; ++i) {
      const float value = back[static_cast<std::size_t>(i)], right = expected[i].item<float>();
      EXPECT_EQ(std::isnan(value), std::isnan(right)) << numbers[static_cast<std::size_t>(i)];
      if (std::isnan(right)) continue;
      EXPECT_EQ(value, right) << numbers[static_cast<std::size_t>(i)];
      EXPECT_EQ(std::signbit(value), std::signbit(right)) << numbers[static_cast<std::size_t>(i)];
    }
  }
}

TYPED_TEST(NarrowKernels, WidenEveryNumber) {
  std::vector<TypeParam> all;
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits)
    all.push_back({static_cast<std::uint16_t>(bits)});
  const auto size = static_cast<std::int64_t>(all.size());
  const at::Tensor expected = at::from_blob(all.data(), {size}, kDtype<TypeParam>).to(at::kFloat);
  for (const CpuKernels<TypeParam>& kernels : available_kernels<TypeParam>()) {
    std::vector<float> wide(all.size());
    kernels.rows->widen(all.data(), size, wide.data());
    const at::Tensor values = at::from_blob(wide.data(), {size}, at::kFloat);
    EXPECT_TRUE(((values == expected) | (values.isnan() & expected.isnan())).all().template item<bool>());
    std::vector<TypeParam> back(all.size());
    kernels.rows->narrow(wide.data(), size, back.data());
    for (std::size_t i = 0; i < all.size(); ++i)
      if (!std::isnan(wide[i])) {
        EXPECT_EQ(back[i].bits, all[i].bits);
      }
  }
}

TEST(ImageLayout, TurnsImagesOfEitherFormatAndViews) {
  constexpr auto kNhwc = at::MemoryFormat::ChannelsLast, kNchw = at::MemoryFormat::Contiguous;
  const at::Tensor drawn = at::randn({3, 37, 5, 9}), none = drawn.narrow(0, 0, 0), view = drawn.narrow(3, 1, 7);
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf})
    for (const auto layout : {kNhwc, kNchw})
      for (const at::Tensor& x : {drawn.to(dtype).contiguous(kNhwc), drawn.to(dtype), none.to(dtype), view.to(dtype)}) {
        const at::Tensor y = in_layout(x, layout);

        EXPECT_TRUE(y.is_contiguous(layout));
        EXPECT_TRUE(at::equal(y, x));
        EXPECT_EQ(y.is_same(x), x.is_contiguous(layout));
      }
}

TYPED_TEST(Kernels, ALimitLeavesBetterInstructionSetsOut) {
  using Set = InstructionSet<TypeParam>;
  const CpuKernels<TypeParam> best = best_kernels<TypeParam>("");

  EXPECT_EQ(best_kernels<TypeParam>("default").rows, Set::baseline().rows);
  EXPECT_EQ(best_kernels<TypeParam>("avx512").rows, best.rows);
  EXPECT_EQ(best_kernels<TypeParam>("avx2").rows,
            best.rows == Set::baseline().rows ? Set::baseline().rows : Set::avx2().rows);
}

template <typename T>
class GemmKernel : public testing::Test {};
using ComputeTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(GemmKernel, ComputeTypes);

TYPED_TEST(GemmKernel, AgreesWithMatmul) {
  const auto options = at::TensorOptions().dtype(kDtype<TypeParam>);
  const at::Tensor a = at::randn({19, 7}, options), b = at::randn({7, 24}, options), d = at::randn({19, 24}, options);
  at::Tensor transposed = at::zeros({7, 24}, options);

  for (const GemmLibrary library : {GemmLibrary::blas, GemmLibrary::onednn}) {
    if (library == GemmLibrary::onednn && !__builtin_cpu_supports("avx512dq")) continue;
    at::Tensor product = at::zeros({19, 24}, options), added = d.clone();
    multiply(a.const_data_ptr<TypeParam>(), b.const_data_ptr<TypeParam>(), 19, 7, 24, Accumulate::no,
             product.mutable_data_ptr<TypeParam>(), library);
    multiply(a.const_data_ptr<TypeParam>(), b.const_data_ptr<TypeParam>(), 19, 7, 24, Accumulate::yes,
             added.mutable_data_ptr<TypeParam>(), library);
    EXPECT_LT((product - a.matmul(b)).abs().max().template item<double>(), 1e-5);
    EXPECT_LT((added - a.matmul(b) - d).abs().max().template item<double>(), 1e-5);
  }
  add_transposed_matmul<TypeParam>(a.const_data_ptr<TypeParam>(), d.const_data_ptr<TypeParam>(), 19, 7, 24,
                                   transposed.mutable_data_ptr<TypeParam>());

  EXPECT_LT((transposed - a.t().matmul(d)).abs().max().item<double>(), 1e-5);
}

}  // namespace
}  // namespace multicard
