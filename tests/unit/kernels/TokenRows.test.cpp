// The rows of the GPU kernels, computed by groups of threads of the CPU, against plain operations in float64.
#include "kernels/cuda/TokenRows.hpp"

#include <algorithm>
#include <barrier>
#include <cstring>
#include <thread>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softmax.h>

#include "base/SplitMix64.hpp"
#include "kernels/cuda/NormRows.hpp"
#include "nn/language/Rope.hpp"
#include "nn/layers/Random.hpp"
#include "token_results.hpp"

namespace multicard {
namespace {

using test::distance;

/// What the threads of a group share.
struct SharedBarrier {
  explicit SharedBarrier(int threads) : barrier(threads), values(static_cast<std::size_t>(threads)) {}

  std::barrier<> barrier;
  std::vector<std::array<float, 2>> values;
};

/// Threads of the CPU that do what a block of a GPU does.
class ThreadGroup {
 public:
  ThreadGroup(SharedBarrier& shared, int lane) : shared_(shared), lane_(lane) {}

  int lane() const { return lane_; }
  int size() const { return static_cast<int>(shared_.values.size()); }

  template <typename T, typename Combine>
  T reduce(T value, Combine combine) const {
    static_assert(sizeof(T) <= sizeof(shared_.values[0]));
    shared_.barrier.arrive_and_wait();
    std::memcpy(shared_.values[static_cast<std::size_t>(lane_)].data(), &value, sizeof(T));
    shared_.barrier.arrive_and_wait();
    T all{};
    for (std::size_t i = 0; i < shared_.values.size(); ++i) {
      T other{};
      std::memcpy(&other, shared_.values[i].data(), sizeof(T));
      all = i == 0 ? other : combine(all, other);
    }
    return all;
  }

 private:
  SharedBarrier& shared_;
  int lane_;
};

template <typename Body>
void with_group(int num_threads, const Body& body) {
  SharedBarrier shared(num_threads);
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(num_threads));
  for (int lane = 0; lane < num_threads; ++lane)
    threads.emplace_back([&, lane] { body(ThreadGroup(shared, lane)); });
  for (std::thread& thread : threads)
    thread.join();
}

template <typename S>
const S* in(const at::Tensor& tensor) {
  return tensor.const_data_ptr<S>();
}

template <typename S>
S* out(const at::Tensor& tensor) {
  return tensor.mutable_data_ptr<S>();
}

at::Tensor wide(const at::Tensor& x) {
  return x.to(at::kDouble);
}

/// Calls body.operator()<S, kWidth>(dtype, tolerance, threads, size): sizes that fit what threads keep of a row, and
/// larger ones.
template <typename Body>
void for_all_kinds(const Body& body) {
  for (const int threads : {1, 3}) {
    for (const std::int64_t size : {1, 7, 61}) {
      body.template operator()<float, 1>(at::kFloat, 2e-6, threads, size);
      body.template operator()<c10::BFloat16, 1>(at::kBFloat16, 1e-2, threads, size);
    }
    for (const std::int64_t size : {8, 48, 136}) {
      body.template operator()<float, 4>(at::kFloat, 2e-6, threads, size);
      body.template operator()<c10::BFloat16, 8>(at::kBFloat16, 1e-2, threads, size);
      body.template operator()<c10::Half, 8>(at::kHalf, 1.5e-3, threads, size);
    }
  }
}

struct NormCase {
  at::Tensor x, delta, weight, dnormed, dstream;

  NormCase(std::int64_t size, at::ScalarType dtype)
      : x(at::randn({size}).to(dtype)),
        delta((at::randn({size}) * 2).to(dtype)),
        weight(at::randn({size}).to(dtype)),
        dnormed(at::randn({size}).to(dtype)),
        dstream(at::randn({size}).to(dtype)) {}
};

TEST(TokenRows, AddAndNormalise) {
  for_all_kinds([]<typename S, int kWidth>(at::ScalarType dtype, double tolerance, int threads, std::int64_t size) {
    const NormCase c(size, dtype);
    const at::Tensor stream = at::empty_like(c.x), normed = at::empty_like(c.x), scale = at::empty({1});
    for (const bool has_delta : {true, false}) {
      const rows::NormRow<S, S> row{in<S>(c.x),      has_delta ? in<S>(c.delta) : nullptr,
                                    in<S>(c.weight), size,
                                    1e-5F,           out<S>(stream),
                                    out<S>(normed),  out<float>(scale)};
      with_group(threads, [&](const ThreadGroup& group) { rows::add_norm<kWidth>(group, row); });

      const at::Tensor sum = has_delta ? (c.x.to(at::kFloat) + c.delta.to(at::kFloat)).to(dtype) : c.x;
      const at::Tensor expected_scale = (wide(sum).square().mean() + 1e-5).rsqrt();
      if (has_delta) {
        EXPECT_TRUE(stream.equal(sum)) << size;
      }
      EXPECT_NEAR(scale.item<double>() / expected_scale.item<double>(), 1.0, 1e-6) << size;
      EXPECT_LT(distance(normed, wide(sum) * expected_scale * wide(c.weight)), tolerance) << size;
    }
  });
}

TEST(TokenRows, GradientOfTheNorm) {
  for_all_kinds([]<typename S, int kWidth>(at::ScalarType dtype, double tolerance, int threads, std::int64_t size) {
    const NormCase c(size, dtype);
    const at::Tensor scale = (wide(c.x).square().mean() + 1e-2).rsqrt(), dx = at::empty_like(c.x);
    const at::Tensor weight = c.weight.to(at::kFloat);
    for (const bool has_dstream : {true, false}) {
      const rows::NormGradientRow<S, float> row{in<S>(c.dnormed),    has_dstream ? in<S>(c.dstream) : nullptr,
                                                in<S>(c.x),          in<float>(weight),
                                                scale.item<float>(), size,
                                                out<S>(dx)};
      with_group(threads, [&](const ThreadGroup& group) { rows::norm_gradient<kWidth>(group, row); });

      const at::Tensor g = wide(c.dnormed) * wide(c.weight), normal = wide(c.x) * scale;
      at::Tensor expected = scale * (g - normal * (g * normal).mean());
      if (has_dstream) expected = expected + wide(c.dstream);
      EXPECT_LT((wide(dx) - expected).norm().item<double>(), tolerance * (1 + expected.norm().item<double>())) << size;
    }
  });
}

TEST(TokenRows, GradientOfTheNormsWeight) {
  for_all_kinds([]<typename S, int kWidth>(at::ScalarType dtype, double, int, std::int64_t size) {
    const at::Tensor stream = at::randn({9, size}).to(dtype), dnormed = at::randn({9, size}).to(dtype);
    const at::Tensor scale = at::randn({9}).abs(), dweight = at::empty({size});

    for (std::int64_t at = 0; at < size; at += kWidth)
      rows::norm_weight_gradient<kWidth>(in<S>(dnormed) + at, in<S>(stream) + at, in<float>(scale), 9, size,
                                         out<float>(dweight) + at);

    // Terms may cancel: rounding is held against their magnitudes, not against their sum.
    const at::Tensor terms = wide(dnormed) * wide(stream) * wide(scale).unsqueeze(1);
    const double error = (wide(dweight) - terms.sum({0})).norm().item<double>();
    EXPECT_LT(error, 1e-6 * terms.abs().sum({0}).norm().item<double>()) << size;
  });
}

TEST(TokenRows, Gate) {
  for_all_kinds([]<typename S, int kWidth>(at::ScalarType dtype, double tolerance, int threads, std::int64_t size) {
    const at::Tensor both = (at::randn({2 * size}) * 4).to(dtype), dy = at::randn({size}).to(dtype);
    const at::Tensor y = at::empty_like(dy), dboth = at::empty_like(both);

    with_group(threads, [&](const ThreadGroup& group) {
      rows::swiglu<kWidth>(group, in<S>(both), size, out<S>(y));
      rows::swiglu_gradient<kWidth>(group, in<S>(dy), in<S>(both), size, out<S>(dboth));
    });

    const at::Tensor gate = wide(both).narrow(0, 0, size), up = wide(both).narrow(0, size, size), open = gate.sigmoid();
    EXPECT_LT(distance(y, gate * open * up), tolerance) << size;
    const at::Tensor dgate = wide(dy) * up * open * (1 + gate * (1 - open)), dup = wide(dy) * gate * open;
    EXPECT_LT(distance(dboth, at::cat({dgate, dup})), tolerance) << size;
  });
}

TEST(TokenRows, GateFarFromZero) {
  const at::Tensor both = at::full({2, 4}, 1.0F);
  both[0][0] = -1e30F;
  both[0][1] = -100.0F;
  both[0][2] = 100.0F;
  both[0][3] = 1e30F;
  const at::Tensor y = at::empty({4});

  with_group(1, [&](const ThreadGroup& group) { rows::swiglu<4>(group, in<float>(both), 4, out<float>(y)); });

  EXPECT_EQ(y[0].item<float>(), 0.0F);
  EXPECT_LT(y[1].abs().item<float>(), 1e-30F);
  EXPECT_EQ(y[2].item<float>(), 100.0F);
  EXPECT_EQ(y[3].item<float>(), 1e30F);
}

constexpr std::int64_t kHeads = 3;

TEST(TokenRows, Turn) {
  for_all_kinds([]<typename S, int kWidth>(at::ScalarType dtype, double tolerance, int threads, std::int64_t half) {
    const at::Tensor x = at::randn({1, kHeads, 2 * half}).to(dtype), before = wide(x);
    const at::Tensor angles = at::randn({1, half}), cos = angles.cos(), sin = angles.sin();
    for (const Rotation rotation : {Rotation::forward, Rotation::inverse}) {
      const at::Tensor turned = x.clone(), expected = before.clone();
      with_group(threads, [&](const ThreadGroup& group) {
        rows::rope<kWidth>(group, out<S>(turned), kHeads, 2 * half, in<float>(cos), in<float>(sin),
                           rotation == Rotation::forward ? 1.0F : -1.0F);
      });
      rotate(expected, {wide(cos), wide(sin)}, rotation, Kernels::aten);
      EXPECT_LT(distance(turned, expected), tolerance) << half;
    }
  });
}

constexpr std::uint64_t kSeed = 11, kThreshold = 644245094;  // 0.3 of 2^31

TEST(TokenRows, Dropout) {
  for_all_kinds([]<typename S, int kWidth>(at::ScalarType dtype, double, int, std::int64_t size) {
    const at::Tensor x = at::randn({size}).to(dtype), expected = seeded_dropout(x, 0.3, kSeed), y = at::empty_like(x);
    const at::Tensor factor = at::full({1}, 1.0).to(dtype).div(0.7);
    const rows::Dropout dropout{splitmix64(kSeed, 0), kThreshold, factor.item<float>()};

    for (std::int64_t at = 0; at < size; at += kWidth)
      rows::drop<kWidth>(dropout, in<S>(x), at, out<S>(y));

    EXPECT_TRUE(y.equal(expected)) << size;
  });
}

TEST(TokenRows, SoftmaxAndItsGradient) {
  for_all_kinds([]<typename S, int kWidth>(at::ScalarType dtype, double tolerance, int threads, std::int64_t size) {
    const std::int64_t target = size * 2 / 3;
    const at::Tensor logits = (at::randn({size}) * 10 + 40).to(dtype), values = wide(logits), kept = logits.clone();
    float loss = 0, loss_alone = 0;

    with_group(threads, [&](const ThreadGroup& group) {
      const float alone = rows::softmax_loss<kWidth>(group, out<S>(kept), size, target, rows::Softmax::loss);
      const float found = rows::softmax_loss<kWidth>(group, out<S>(logits), size, target, rows::Softmax::gradient);
      if (group.lane() == group.size() - 1) {
        loss = found;
        loss_alone = alone;
      }
    });

    const at::Tensor row = values.unsqueeze(0), expected = row.softmax(1).squeeze(0);
    expected[target] -= 1;
    EXPECT_NEAR(loss, at::cross_entropy_loss(row, at::full({1}, target, at::kLong)).item<double>(), 2e-5) << size;
    EXPECT_EQ(loss, loss_alone);
    EXPECT_TRUE(wide(kept).equal(values));
    EXPECT_LT((wide(logits) - expected).norm().item<double>(), tolerance) << size;
  });
}

TEST(TokenRows, SoftmaxOfImpossibleLogits) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto loss_of = [](const at::Tensor& logits) {
    float loss = 0;
    with_group(2, [&](const ThreadGroup& group) {
      const float found = rows::softmax_loss<1>(group, out<float>(logits), logits.numel(), 0, rows::Softmax::loss);
      if (group.lane() == 0) loss = found;
    });
    return loss;
  };
  at::Tensor excluded = at::full({6}, -kInfinity), broken = at::full({6}, 1.0F);
  excluded[0] = 3.0F;
  broken[4] = std::nanf("");

  EXPECT_EQ(loss_of(excluded), 0.0F);
  EXPECT_TRUE(std::isnan(loss_of(broken)));
}

}  // namespace
}  // namespace multicard
