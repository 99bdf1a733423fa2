// The GPU kernels on more values than 32 bits count: memory is mapped where it is touched, and the blocks run that have
// the first rows and the last ones.
#include <set>
#include <system_error>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softmax.h>
#include <c10/util/BFloat16.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda_shim/Execution.hpp"
#include "kernels/cuda/TokenLaunch.hpp"

namespace multicard {
namespace {

using cuda_shim::Execution;
using cuda_shim::ExecutionScope;
using cuda_shim::Order;

constexpr std::int64_t kMostBlocks = 65536;  // of one launch, which go over several rows
constexpr std::int64_t kRows = kMostBlocks + 2;
/// Rows in packs and rows of single values.
const std::vector<std::int64_t> kSizes{32776, 32777};
/// The rows of the first two blocks and of the last one.
const std::vector<std::int64_t> kRowsOfBlocks{0, 1, kMostBlocks - 1, kMostBlocks, kRows - 1};
static_assert(kRows * 32776 > std::int64_t{1} << 31);

/// Zeros that take memory where they are written; the page after the last one cannot be touched.
template <typename S>
class Values {
 public:
  explicit Values(std::int64_t count) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(S), used = (bytes + page - 1) / page * page;
    mapped_ = used + page;
    start_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start_ == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    mprotect(static_cast<std::byte*>(start_) + used, page, PROT_NONE);
    values_ = reinterpret_cast<S*>(static_cast<std::byte*>(start_) + used - bytes);
  }
  ~Values() { munmap(start_, mapped_); }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;

  S* get() const { return values_; }
  at::Tensor part(std::int64_t first, std::int64_t count) const {
    return at::from_blob(values_ + first, {count}, c10::CppTypeToScalarType<S>::value);
  }

 private:
  void* start_;
  std::size_t mapped_;
  S* values_;
};

/// Rows of `size` values in such memory.
template <typename S>
class Matrix {
 public:
  explicit Matrix(std::int64_t size) : size_(size), values_(kRows * size) {}

  S* get() const { return values_.get(); }
  at::Tensor row(std::int64_t index) const { return values_.part(index * size_, size_); }
  at::Tensor wide(std::int64_t index) const { return row(index).to(at::kDouble); }
  void fill(double deviation = 1) const {
    for (const std::int64_t index : kRowsOfBlocks)
      row(index).copy_(at::randn({size_}) * deviation);
  }

 private:
  std::int64_t size_;
  Values<S> values_;
};

double distance(const at::Tensor& a, const at::Tensor& b) {
  return ((a.to(at::kDouble) - b).norm() / b.norm()).item<double>();
}

/// Of threads; blocks 0, 1 and the last one run.
std::vector<Execution> executions() {
  const auto runs = [](std::uint64_t block) { return block < 2 || block == kMostBlocks - 1; };
  return {{Order::ascending, 0, runs}, {Order::descending, 0, runs}, {Order::shuffled, 7, runs}};
}

using Half = c10::BFloat16;
constexpr double kTolerance = 1e-2;

TEST(CudaKernelIndices, AddAndNormalise) {
  for (const std::int64_t size : kSizes) {
    const Matrix<Half> x(size), delta(size), stream(size), normed(size);
    const Values<float> scale(kRows);
    const at::Tensor weight = at::randn({size});
    x.fill();
    delta.fill();
    for (const Execution& execution : executions()) {
      const ExecutionScope scope(execution);
      const rows::NormRow<Half, float> first{
          x.get(), delta.get(), weight.const_data_ptr<float>(), size, 1e-5F, stream.get(), normed.get(), scale.get(),
      };
      ASSERT_EQ(rows::launch_add_norm(first, kRows, nullptr), cudaSuccess);
      for (const std::int64_t row : kRowsOfBlocks) {
        const at::Tensor sum = stream.wide(row), inverse = (sum.square().mean() + 1e-5).rsqrt();
        EXPECT_LT(distance(sum, x.wide(row) + delta.wide(row)), kTolerance) << row;
        EXPECT_LT(distance(normed.row(row), sum * inverse * weight), kTolerance) << row;
        EXPECT_LT(distance(scale.part(row, 1), inverse), 1e-5) << row;
      }
      EXPECT_EQ(normed.row(2).count_nonzero().item<std::int64_t>(), 0);  // of a block that was left out
    }
  }
}

TEST(CudaKernelIndices, GradientOfTheNorm) {
  for (const std::int64_t size : kSizes) {
    const Matrix<Half> dnormed(size), dstream(size), stream(size), dx(size);
    const Values<float> scale(kRows);
    const at::Tensor weight = at::randn({size});
    dnormed.fill();
    dstream.fill();
    stream.fill();
    for (const std::int64_t row : kRowsOfBlocks)
      scale.part(row, 1).fill_(1.0 + static_cast<double>(row % 7));
    for (const Execution& execution : executions()) {
      const ExecutionScope scope(execution);
      const rows::NormGradientRow<Half, float> first{
          dnormed.get(), dstream.get(), stream.get(), weight.const_data_ptr<float>(), 0, size, dx.get()};
      ASSERT_EQ(rows::launch_norm_gradient(first, scale.get(), kRows, nullptr), cudaSuccess);
      for (const std::int64_t row : kRowsOfBlocks) {
        const at::Tensor factor = scale.part(row, 1).to(at::kDouble), g = dnormed.wide(row) * weight;
        const at::Tensor normal = stream.wide(row) * factor;
        EXPECT_LT(distance(dx.row(row), factor * (g - normal * (g * normal).mean()) + dstream.wide(row)), kTolerance)
            << row;
      }
    }
  }
}

TEST(CudaKernelIndices, GradientOfTheNormsWeight) {
  for (const std::int64_t size : kSizes) {
    const std::int64_t width = size % 8 == 0 ? 8 : 1, parts = (kRows + rows::kRowsOfPart - 1) / rows::kRowsOfPart;
    const auto blocks = static_cast<std::uint64_t>((size / width + 63) / 64 * parts);
    const Matrix<Half> dnormed(size), stream(size);
    const Values<float> scale(kRows), partial(parts * size);
    dnormed.fill();
    stream.fill();
    for (const std::int64_t row : kRowsOfBlocks)
      scale.part(row, 1).fill_(2);
    const ExecutionScope scope(
        {Order::ascending, 0, [&](std::uint64_t block) { return block == 0 || block == blocks - 1; }});

    ASSERT_EQ(rows::launch_norm_weight_gradient(dnormed.get(), stream.get(), scale.get(), kRows, size, partial.get(),
                                                nullptr),
              cudaSuccess);

    // The first has rows 0 and 1 among zeros, the last the last two.
    const auto sum = [&](std::int64_t row) {
      return (dnormed.wide(row) * stream.wide(row) + dnormed.wide(row + 1) * stream.wide(row + 1)) * 2;
    };
    const std::int64_t first_columns = 64 * width, last_columns = size / width % 64 * width;
    EXPECT_LT(distance(partial.part(0, first_columns), sum(0).narrow(0, 0, first_columns)), 1e-5);
    EXPECT_LT(distance(partial.part(parts * size - last_columns, last_columns),
                       sum(kRows - 2).narrow(0, size - last_columns, last_columns)),
              1e-5);
  }
}

TEST(CudaKernelIndices, GateAndItsGradient) {
  for (const std::int64_t size : kSizes) {
    const Matrix<Half> both(2 * size), dy(size), y(size), dboth(2 * size);
    both.fill();
    dy.fill();
    const ExecutionScope scope(executions().front());

    ASSERT_EQ(rows::launch_swiglu(both.get(), kRows, size, y.get(), nullptr), cudaSuccess);
    ASSERT_EQ(rows::launch_swiglu_gradient(dy.get(), both.get(), kRows, size, dboth.get(), nullptr), cudaSuccess);

    for (const std::int64_t row : kRowsOfBlocks) {
      const at::Tensor gate = both.wide(row).narrow(0, 0, size), up = both.wide(row).narrow(0, size, size);
      const at::Tensor open = gate.sigmoid(), d = dy.wide(row);
      EXPECT_LT(distance(y.row(row), gate * open * up), kTolerance) << row;
      const at::Tensor dgate = d * up * open * (1 + gate * (1 - open)), dup = d * gate * open;
      EXPECT_LT(distance(dboth.row(row), at::cat({dgate, dup})), kTolerance) << row;
    }
  }
}

TEST(CudaKernelIndices, Turn) {
  constexpr std::int64_t kDim = 16;
  for (const std::int64_t size : kSizes) {  // of a row, of which heads fill a part
    constexpr std::int64_t kHeads = 2000;
    const Matrix<Half> x(size);
    const Values<float> cos(kRows * kDim / 2), sin(kRows * kDim / 2);
    x.fill();
    std::vector<at::Tensor> before;
    for (const std::int64_t row : kRowsOfBlocks) {
      before.push_back(x.wide(row).narrow(0, 0, kHeads * kDim).view({kHeads, kDim}));
      cos.part(row * kDim / 2, kDim / 2).copy_(at::randn({kDim / 2}));
      sin.part(row * kDim / 2, kDim / 2).copy_(at::randn({kDim / 2}));
    }
    const ExecutionScope scope(executions().front());

    ASSERT_EQ(rows::launch_rope(x.get(), kRows, size, kHeads, kDim, cos.get(), sin.get(), 1.0F, nullptr), cudaSuccess);

    for (std::size_t i = 0; i < before.size(); ++i) {
      const std::int64_t row = kRowsOfBlocks[i];
      const at::Tensor c = cos.part(row * kDim / 2, kDim / 2), s = sin.part(row * kDim / 2, kDim / 2);
      const at::Tensor first = before[i].narrow(1, 0, kDim / 2), second = before[i].narrow(1, kDim / 2, kDim / 2);
      const at::Tensor expected = at::cat({first * c - second * s, second * c + first * s}, 1);
      EXPECT_LT(distance(x.row(row).narrow(0, 0, kHeads * kDim).view({kHeads, kDim}), expected), kTolerance) << row;
    }
  }
}

TEST(CudaKernelIndices, SoftmaxLossAndItsGradient) {
  for (const std::int64_t size : kSizes)
    for (const Execution& execution : executions()) {
      const Matrix<Half> logits(size);
      const Values<std::int64_t> targets(kRows);
      const Values<float> losses(kRows);
      logits.fill(3);
      std::vector<at::Tensor> before;
      for (const std::int64_t row : kRowsOfBlocks) {
        before.push_back(logits.wide(row).unsqueeze(0));
        targets.part(row, 1).fill_(size - 1 - row % 5);
      }
      const ExecutionScope scope(execution);

      ASSERT_EQ(rows::launch_softmax_loss(logits.get(), targets.get(), kRows, size, rows::Softmax::gradient,
                                          losses.get(), nullptr),
                cudaSuccess);

      for (std::size_t i = 0; i < before.size(); ++i) {
        const std::int64_t row = kRowsOfBlocks[i];
        const at::Tensor target = targets.part(row, 1);
        EXPECT_NEAR(losses.part(row, 1).item<float>(), at::cross_entropy_loss(before[i], target).item<double>(), 1e-4);
        const at::Tensor gradient = before[i].softmax(1).squeeze(0);
        gradient[target.item<std::int64_t>()] -= 1;
        EXPECT_LT(distance(logits.row(row), gradient), kTolerance) << row;
      }
    }
}

TEST(CudaKernelIndices, Dropout) {
  constexpr std::int64_t kThreads = 256, kFirst = 1000;
  for (const std::int64_t rest : {8, 5}) {  // packs and single values
    const std::int64_t size = (std::int64_t{1} << 31) + rest, width = rest == 8 ? 8 : 1;
    const std::uint64_t last = static_cast<std::uint64_t>((size - 1) / width / kThreads % kMostBlocks);
    const Values<Half> x(size), y(size);
    x.part(0, kFirst).fill_(2);
    x.part(size - rest, rest).fill_(2);
    const rows::Dropout dropout{12345, std::uint64_t{1} << 30, 1.5F};
    const ExecutionScope scope({Order::ascending, 0, [&](std::uint64_t block) { return block == 0 || block == last; }});

    ASSERT_EQ(rows::launch_dropout(dropout, x.get(), size, y.get(), nullptr), cudaSuccess);

    const auto expect_dropped = [&](std::int64_t at) {
      const bool is_kept = rows::dropout_bits(dropout.key, static_cast<std::uint64_t>(at)) >= dropout.threshold;
      EXPECT_EQ(y.part(at, 1).item<float>(), is_kept ? 3.0F : 0.0F) << at;
    };
    for (std::int64_t at = 0; at < kThreads; ++at)
      expect_dropped(at);
    for (std::int64_t at = size - rest; at < size; ++at)
      expect_dropped(at);
  }
}

}  // namespace
}  // namespace multicard
