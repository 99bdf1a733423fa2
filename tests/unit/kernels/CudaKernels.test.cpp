// The GPU kernels and their launches, compiled as C++ and executed by the CPU (tests/cuda_shim), against plain
// operations in float64: every order of threads gives the same bits.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softmax.h>
#include <gtest/gtest.h>

#include "cuda_shim/Execution.hpp"
#include "kernels/cuda/CudaTokens.hpp"
#include "kernels/cuda/TokenRows.hpp"

namespace multicard {
namespace {

using cuda_shim::Execution;
using cuda_shim::ExecutionScope;
using cuda_shim::Order;
using Results = std::vector<at::Tensor>;

/// With and without a rest, in one warp and in several, and beyond what the threads of a block keep of a row.
const std::vector<std::int64_t> kSizes{1, 7, 8, 83, 136, 1031, 4104, 8200};

struct Types {
  at::ScalarType values, weight;
  double tolerance;
};
const std::vector<Types> kTypes{{at::kFloat, at::kFloat, 2e-6},
                                {at::kHalf, at::kFloat, 1.5e-3},
                                {at::kHalf, at::kHalf, 1.5e-3},
                                {at::kBFloat16, at::kFloat, 1e-2},
                                {at::kBFloat16, at::kBFloat16, 1e-2}};
const std::vector<Types> kValueTypes{kTypes[0], kTypes[1], kTypes[3]};

at::Tensor wide(const at::Tensor& x) {
  return x.to(at::kDouble);
}

double distance(const at::Tensor& a, const at::Tensor& b) {
  return ((wide(a) - b).norm() / b.norm()).item<double>();
}

enum class Address { aligned, shifted };

/// The values of `x`, whose memory begins after one that it does not own where the address is to be shifted.
at::Tensor placed(const at::Tensor& x, Address address) {
  if (address == Address::aligned) return x.clone();
  const at::Tensor copy = at::empty({x.numel() + 1}, x.options()).narrow(0, 1, x.numel()).view(x.sizes());
  copy.copy_(x);
  return copy;
}

/// What `body` gives, in whatever order threads and blocks run.
Results in_every_order(const std::function<Results()>& body) {
  Results first;
  for (const Execution& execution :
       {Execution{Order::ascending, 0, {}}, {Order::descending, 0, {}}, {Order::shuffled, 1, {}}}) {
    const ExecutionScope scope(execution);
    const Results results = body();
    if (first.empty()) first = results;
    for (std::size_t i = 0; i < results.size(); ++i)
      EXPECT_TRUE(results[i].equal(first[i])) << "result " << i << " depends on the order of threads";
  }
  return first;
}

/// Calls body(types, size, address) for all of them; a shifted address matters where rows could be taken in packs.
void for_all(const std::vector<Types>& types, const std::function<void(const Types&, std::int64_t, Address)>& body) {
  for (const Types& type : types)
    for (const std::int64_t size : kSizes)
      for (const Address address : {Address::aligned, Address::shifted}) {
        if (address == Address::shifted && (size % 8 != 0 || size > 5000)) continue;
        SCOPED_TRACE(std::string(c10::toString(type.values)) + " with " + c10::toString(type.weight) + ", size " +
                     std::to_string(size) + (address == Address::shifted ? ", shifted" : ""));
        body(type, size, address);
      }
}

constexpr std::int64_t kRows = 2;
constexpr double kEpsilon = 1e-5;

TEST(CudaKernels, AddAndNormalise) {
  for_all(kTypes, [](const Types& types, std::int64_t size, Address address) {
    const at::Tensor x = placed(at::randn({kRows, size}).to(types.values), address);
    const at::Tensor delta = (at::randn({kRows, size}) * 2).to(types.values);
    const at::Tensor weight = at::randn({size}).to(types.weight);
    for (const bool adds : {true, false}) {
      const Results found = in_every_order([&] {
        const CudaNormed result = cuda_add_norm(x, adds ? delta : at::Tensor(), weight, kEpsilon);
        return Results{result.stream, result.normed, result.scale};
      });
      const at::Tensor stream = adds ? (x.to(at::kFloat) + delta.to(at::kFloat)).to(types.values) : x;
      const at::Tensor scale = (wide(stream).square().mean(1, /*keepdim=*/true) + kEpsilon).rsqrt();
      EXPECT_TRUE(found[0].equal(stream));
      EXPECT_LT(distance(found[1], wide(stream) * scale * wide(weight)), types.tolerance);
      EXPECT_LT(distance(found[2], scale), 1e-6);
    }
  });
}

TEST(CudaKernels, GradientsOfTheNorm) {
  for_all(kTypes, [](const Types& types, std::int64_t size, Address address) {
    const auto random = [&] { return at::randn({kRows, size}).to(types.values); };
    const at::Tensor stream = placed(random(), address), dnormed = random(), dstream = random();
    const at::Tensor weight = at::randn({size}).to(types.weight);
    const at::Tensor scale = (wide(stream).square().mean(1, /*keepdim=*/true) + 1e-2).rsqrt().to(at::kFloat);
    for (const bool adds : {true, false}) {
      const Results found = in_every_order([&] {
        return Results{cuda_norm_gradient(dnormed, adds ? dstream : at::Tensor(), stream, weight, scale),
                       cuda_norm_weight_gradient(dnormed, stream, scale)};
      });
      const at::Tensor g = wide(dnormed) * wide(weight), normal = wide(stream) * wide(scale);
      at::Tensor dx = wide(scale) * (g - normal * (g * normal).mean(1, /*keepdim=*/true));
      if (adds) dx = dx + wide(dstream);
      EXPECT_LT((wide(found[0]) - dx).norm().item<double>(), types.tolerance * (1 + dx.norm().item<double>()));
      EXPECT_LT(distance(found[1], (wide(dnormed) * normal).sum({0})), 2e-6);
    }
  });
}

TEST(CudaKernels, GradientOfTheNormsWeightOverSeveralParts) {
  const at::Tensor stream = at::randn({2 * 128 + 5, 19}), dnormed = at::randn({2 * 128 + 5, 19});
  const at::Tensor scale = at::randn({2 * 128 + 5, 1}).abs();

  const Results found = in_every_order([&] { return Results{cuda_norm_weight_gradient(dnormed, stream, scale)}; });

  EXPECT_LT(distance(found[0], (wide(dnormed) * wide(stream) * wide(scale)).sum({0})), 2e-6);
}

TEST(CudaKernels, Gate) {
  for_all(kValueTypes, [](const Types& types, std::int64_t size, Address address) {
    const at::Tensor both = placed((at::randn({kRows, 2 * size}) * 4).to(types.values), address);
    const at::Tensor dy = at::randn({kRows, size}).to(types.values);

    const Results found = in_every_order([&] { return Results{cuda_swiglu(both), cuda_swiglu_gradient(dy, both)}; });

    const at::Tensor gate = wide(both).narrow(1, 0, size), up = wide(both).narrow(1, size, size), open = gate.sigmoid();
    EXPECT_LT(distance(found[0], gate * open * up), types.tolerance);
    const at::Tensor dgate = wide(dy) * up * open * (1 + gate * (1 - open)), dup = wide(dy) * gate * open;
    EXPECT_LT(distance(found[1], at::cat({dgate, dup}, 1)), types.tolerance);
  });
}

TEST(CudaKernels, TurnHeadsThatLieInWiderRows) {
  for (const Types& types : kValueTypes)
    for (const std::int64_t head_dim : {2, 6, 64, 128})
      for (const std::int64_t gap : {0, 3, 16})
        for (const double direction : {1.0, -1.0}) {
          constexpr std::int64_t kHeads = 5;
          const at::Tensor rows = at::randn({kRows, kHeads * head_dim + gap}).to(types.values);
          const at::Tensor angles = at::randn({kRows, head_dim / 2}), cos = angles.cos(), sin = angles.sin();
          const auto heads = [&](const at::Tensor& x) {
            return x.narrow(1, 0, kHeads * head_dim).unflatten(1, {kHeads, head_dim});
          };

          const Results found = in_every_order([&] {
            const at::Tensor turned = rows.clone();
            cuda_rope(heads(turned), cos, sin, direction);
            return Results{turned};
          });

          const at::Tensor before = wide(heads(rows)), first = before.narrow(2, 0, head_dim / 2),
                           second = before.narrow(2, head_dim / 2, head_dim / 2);
          const at::Tensor c = wide(cos).unsqueeze(1), s = wide(sin).unsqueeze(1) * direction;
          const at::Tensor expected = at::cat({first * c - second * s, second * c + first * s}, 2);
          EXPECT_LT(distance(heads(found[0]), expected), types.tolerance) << head_dim << " " << gap;
          const at::Tensor after = found[0].narrow(1, kHeads * head_dim, gap);
          EXPECT_TRUE(after.equal(rows.narrow(1, kHeads * head_dim, gap)));
        }
}

TEST(CudaKernels, SoftmaxLossAndItsGradient) {
  for_all(kValueTypes, [](const Types& types, std::int64_t size, Address address) {
    const at::Tensor logits = (at::randn({kRows, size}) * 10 + 40).to(types.values);
    const at::Tensor tokens = at::randint(size, {kRows}, at::kLong);

    const Results found = in_every_order([&] {
      const at::Tensor kept = placed(logits, address), replaced = placed(logits, address);
      const at::Tensor alone = cuda_softmax_loss(kept, tokens, LogitGradient::none);
      EXPECT_TRUE(kept.equal(logits));
      return Results{alone, cuda_softmax_loss(replaced, tokens, LogitGradient::in_place), replaced};
    });

    EXPECT_TRUE(found[0].equal(found[1]));
    at::Tensor gradient = wide(logits).softmax(1);
    for (std::int64_t row = 0; row < kRows; ++row) {
      const at::Tensor one = wide(logits).narrow(0, row, 1), token = tokens.narrow(0, row, 1);
      EXPECT_NEAR(found[0][row].item<double>(), at::cross_entropy_loss(one, token).item<double>(), 3e-5);
      gradient[row][token.item<std::int64_t>()] -= 1;
    }
    EXPECT_LT((wide(found[2]) - gradient).norm().item<double>(), kRows * types.tolerance);
  });
}

TEST(CudaKernels, SoftmaxLossOfRowsThatEndInMinusInfinity) {
  constexpr std::int64_t kVocabulary = 1021, kRoom = 1024;
  for (const Types& types : kValueTypes) {
    const at::Tensor logits = (at::randn({kRows, kVocabulary}) * 10).to(types.values);
    const at::Tensor tokens = at::randint(kVocabulary, {kRows}, at::kLong);
    const at::Tensor wider = at::full({kRows, kRoom}, -std::numeric_limits<double>::infinity(), types.values);
    wider.narrow(1, 0, kVocabulary).copy_(logits);

    const at::Tensor expected = cuda_softmax_loss(logits, tokens, LogitGradient::in_place);
    const at::Tensor found = cuda_softmax_loss(wider, tokens, LogitGradient::in_place);

    EXPECT_LT(distance(found, wide(expected)), 1e-6);
    EXPECT_LT(distance(wider.narrow(1, 0, kVocabulary), wide(logits)), types.tolerance);
    EXPECT_EQ(wider.narrow(1, kVocabulary, kRoom - kVocabulary).count_nonzero().item<std::int64_t>(), 0);
  }
}

/// Bits of splitmix64 (Steele, Lea and Flood 2014), by int64 tensors.
at::Tensor dropout_bits(std::uint64_t key, std::int64_t count) {
  const auto as_signed = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  const auto shifted = [&](const at::Tensor& x, int bits) {
    return x ^ (x.__rshift__(bits) & as_signed(~std::uint64_t{0} >> bits));
  };
  at::Tensor x = at::arange(count, at::kLong) * as_signed(0x9E3779B97F4A7C15U) + as_signed(key);
  x = shifted(x, 30) * as_signed(0xBF58476D1CE4E5B9U);
  x = shifted(x, 27) * as_signed(0x94D049BB133111EBU);
  return shifted(x, 31) & 0x7FFFFFFF;
}

TEST(CudaKernels, Dropout) {
  constexpr std::uint64_t kKey = 0x123456789ABCDEFU, kThreshold = 644245094;  // 0.3 of 2^31
  for_all(kValueTypes, [&](const Types& types, std::int64_t size, Address address) {
    const at::Tensor x = placed(at::randn({size}).to(types.values), address);

    const Results found = in_every_order([&] { return Results{cuda_dropout(x, kKey, kThreshold, 1.25)}; });

    const at::Tensor is_kept = dropout_bits(kKey, size) >= static_cast<std::int64_t>(kThreshold);
    EXPECT_TRUE(found[0].equal((x.to(at::kFloat) * is_kept * 1.25).to(types.values)));
  });
}

TEST(CudaKernels, TakeNoRows) {
  for (const Types& types : kTypes) {
    const at::Tensor none = at::empty({0, 16}, types.values), weight = at::ones({16}, types.weight);
    const at::Tensor scale = at::empty({0, 1}), tokens = at::empty({0}, at::kLong);

    EXPECT_EQ(cuda_add_norm(none, none, weight, kEpsilon).normed.sizes(), none.sizes());
    EXPECT_EQ(cuda_norm_gradient(none, none, none, weight, scale).sizes(), none.sizes());
    EXPECT_EQ(cuda_norm_weight_gradient(none, none, scale).abs().sum().item<float>(), 0.0F);
    EXPECT_EQ(cuda_swiglu(none).sizes(), (std::vector<std::int64_t>{0, 8}));
    EXPECT_EQ(cuda_swiglu_gradient(cuda_swiglu(none), none).sizes(), none.sizes());
    EXPECT_EQ(cuda_softmax_loss(none, tokens, LogitGradient::in_place).numel(), 0);
    EXPECT_EQ(cuda_dropout(none, 1, 2, 1.0).sizes(), none.sizes());
    EXPECT_NO_THROW(cuda_rope(none.view({0, 2, 8}), at::empty({0, 4}), at::empty({0, 4}), 1.0));
  }
}

}  // namespace
}  // namespace multicard
