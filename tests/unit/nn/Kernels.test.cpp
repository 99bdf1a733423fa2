#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "nn/cpu/Gemm.hpp"
#include "nn/cpu/InstructionSets.hpp"

namespace multicard {
namespace {

// Results of every kernel on one set of inputs, whose sizes leave remainders in every loop.
template <typename T>
class Probe {
 public:
  explicit Probe(const CpuKernels<T>& kernels) : rows_(*kernels.rows), planes_(*kernels.planes) {
    at::manual_seed(1);
    for (at::Tensor* tensor : {&x_, &dy_, &scale_, &mean_, &bias_, &slope_, &offset_, &filter_})
      *tensor = values(tensor == &x_ || tensor == &dy_ ? kRows * kChannels : 9 * kChannels);
    run_rows();
    run_filters();
    run_planes();
  }
  const std::vector<at::Tensor>& results() const { return results_; }

 private:
  static constexpr std::int64_t kRows = 35, kChannels = 16 + 8 + 3;

  static at::TensorOptions options() { return at::TensorOptions().dtype(c10::CppTypeToScalarType<T>::value); }
  static at::Tensor values(std::int64_t size) { return at::randn({size}, options()) * 2; }
  static const T* in(const at::Tensor& tensor) { return tensor.const_data_ptr<T>(); }
  T* out(std::int64_t size) { return results_.emplace_back(at::zeros({size}, options())).mutable_data_ptr<T>(); }
  double* sums() {
    return results_.emplace_back(at::zeros({kChannels}, at::TensorOptions().dtype(at::kDouble)))
        .template mutable_data_ptr<double>();
  }

  void run_rows() {
    for (const Activation activation : {Activation::none, Activation::relu6}) {
      const AffineView<T> affine{in(scale_), in(mean_), in(bias_), activation};
      const GradientView<T> gradient{in(scale_), in(slope_), in(offset_), in(mean_)};
      rows_.moments(in(x_), kRows, kChannels, sums(), sums());
      rows_.normalise(in(x_), kRows, kChannels, affine, nullptr, out(kRows * kChannels));
      rows_.gradient_sums(in(dy_), in(x_), kRows, kChannels, affine, sums(), sums(), nullptr);
      rows_.gradient_sums(in(dy_), in(x_), kRows, kChannels, affine, sums(), sums(), out(kRows * kChannels));
      rows_.input_gradient(in(dy_), in(x_), kRows, kChannels, affine, gradient, out(kRows * kChannels));
    }
    const AffineView<T> linear{in(scale_), in(mean_), in(bias_), Activation::none};
    rows_.normalise(in(x_), kRows, kChannels, linear, in(dy_), out(kRows * kChannels));
  }

  void run_filters() {
    constexpr std::int64_t kWidth = 9, kRow = (kWidth + 2) * kChannels;
    const T* image = in(x_);
    for (const std::int64_t stride : {1, 2}) {
      const FilterRows<T> rows{{image, image + kRow, image + 2 * kRow}};
      const std::int64_t width_out = (kWidth - 1) / stride + 1;
      rows_.filter_row(rows, in(filter_), width_out, kChannels, stride, out(width_out * kChannels));
      rows_.filter_gradient_row(rows, in(dy_), width_out, kChannels, stride, out(9 * kChannels));
      for (int count = 1; count <= 3; ++count) {
        if ((stride == 1) != (count == 3)) continue;
        const T* filter = in(filter_);
        const GradientRows<T> gradients{
            {image, image + kRow, image + 2 * kRow}, {filter, filter + 3 * kChannels, filter + 6 * kChannels}, count};
        rows_.filter_input_row(gradients, kWidth, kChannels, stride, out(kWidth * kChannels));
      }
    }
  }

  void run_planes() {
    const std::int64_t size = kRows * kChannels;
    for (const Activation activation : {Activation::none, Activation::relu6}) {
      const PlaneAffine<T> affine{T(0.7), T(0.3), T(1.5), activation};
      planes_.moments(in(x_), size, sums(), sums());
      planes_.normalise(in(x_), size, affine, nullptr, out(size));
      planes_.gradient_sums(in(dy_), in(x_), size, affine, sums(), sums());
      planes_.input_gradient(in(dy_), in(x_), size, affine, {T(0.7), T(0.2), T(-0.1)}, out(size));
    }
  }

  const RowKernels<T>& rows_;
  const PlaneKernels<T>& planes_;
  at::Tensor x_, dy_, scale_, mean_, bias_, slope_, offset_, filter_;
  std::vector<at::Tensor> results_;
};

template <typename T>
void expect_same(const CpuKernels<T>& kernels, const CpuKernels<T>& expected) {
  const double tolerance = sizeof(T) == 8 ? 1e-13 : 1e-5;
  const Probe<T> ours(kernels), others(expected);
  for (std::size_t i = 0; i < ours.results().size(); ++i) {
    const at::Tensor &a = ours.results()[i], &b = others.results()[i];
    EXPECT_LT((a - b).norm().template item<double>(), tolerance * (1 + b.norm().template item<double>())) << i;
  }
}

template <typename T>
class Kernels : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Kernels, Types);

TYPED_TEST(Kernels, AreTheSameInAvx2AsInTheBaseline) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) GTEST_SKIP() << "no AVX2 here";
  expect_same(InstructionSet<TypeParam>::avx2(), InstructionSet<TypeParam>::baseline());
}

TYPED_TEST(Kernels, AreTheSameInAvx512AsInTheBaseline) {
  if (!__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512dq")) GTEST_SKIP() << "no AVX-512 here";
  expect_same(InstructionSet<TypeParam>::avx512(), InstructionSet<TypeParam>::baseline());
}

TYPED_TEST(Kernels, MultiplyMatrices) {
  const auto options = at::TensorOptions().dtype(c10::CppTypeToScalarType<TypeParam>::value);
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
  add_transposed_product<TypeParam>(a.const_data_ptr<TypeParam>(), d.const_data_ptr<TypeParam>(), 19, 7, 24,
                                    transposed.mutable_data_ptr<TypeParam>());

  EXPECT_LT((transposed - a.t().matmul(d)).abs().max().item<double>(), 1e-5);
}

}  // namespace
}  // namespace multicard
