// AdamW with moments of 8 bits; against bitsandbytes in train/Adamw8bitOptimizer.

#include "kernels/Adamw.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include "kernels/AdamwAten.hpp"
#include "kernels/AdamwFormula.hpp"
#include "state/TensorFile.hpp"
#include "support/test_world.hpp"
#include "unit/kernels/adamw_state.hpp"
#include "unit/kernels/available_kernels.hpp"

namespace multicard {
namespace {

using test::adamw_step_number;
using test::AdamwState;

const std::vector<at::ScalarType> kTypes{at::kFloat, at::kDouble, at::kBFloat16, at::kHalf};
constexpr std::int64_t kSize = 20 * kMomentBlock + 83;

/// After some steps.
AdamwState trained(at::ScalarType dtype, MomentBits bits) {
  AdamwState state(kSize, dtype, bits);
  for (int number = 1; number <= 3; ++number)
    adamw_step(std::vector{state.with(state.gradient())}, adamw_step_number(number));
  return state;
}

TEST(DynamicMap, ValuesAreBitsandbytes) {
  const TensorFile oracle(test::source_path("tests/data/oracles/optimisation/adamw8bit.safetensors").string());
  for (const auto& [name, map] :
       {std::pair("signed_map", &signed_dynamic_map()), std::pair("unsigned_map", &unsigned_dynamic_map())}) {
    const at::Tensor expected = oracle.load(name);
    for (std::int64_t i = 0; i < 256; ++i)
      EXPECT_EQ(map->values[i], expected[i].item<float>()) << name << " " << i;
  }
}

TEST(DynamicMap, CodesAreThoseOfASearch) {
  for (const DynamicMap* map : {&signed_dynamic_map(), &unsigned_dynamic_map()}) {
    std::vector<float> values{0, -0.0F, 1, 1.0000001F, 0x1p-24F, 0x1p-130F, -1};
    for (const float bound : map->bounds)
      for (const float value : {std::nextafter(bound, -2.0F), bound, std::nextafter(bound, 2.0F)})
        values.push_back(value);
    for (int key = 0; key < DynamicMap::kNumKeys; ++key) {
      const float start = std::bit_cast<float>(static_cast<std::uint32_t>(DynamicMap::kFirstKey + key) << 16);
      values.insert(values.end(), {start, std::nextafter(start, 0.0F), -start, -std::nextafter(start, 0.0F)});
    }
    for (const float value : values) {
      const auto* const bound = std::lower_bound(std::begin(map->bounds), std::end(map->bounds), value);

      EXPECT_EQ(nearest_code(*map, value), std::min<std::ptrdiff_t>(bound - std::begin(map->bounds), 255)) << value;
    }
    EXPECT_LE(nearest_code(*map, std::numeric_limits<float>::quiet_NaN()), 255);
  }
}

TEST(DynamicMap, ValuesHaveTheirOwnCodes) {
  for (const DynamicMap* map : {&signed_dynamic_map(), &unsigned_dynamic_map()})
    for (int code = 0; code < 256; ++code)
      EXPECT_EQ(nearest_code(*map, map->values[code]), code);
}

TEST(Adamw, AllInstructionSetsGiveTheSameBits) {
  for (const MomentBits bits : {MomentBits::eight, MomentBits::thirty_two})
    for (const at::ScalarType dtype : kTypes)
      with_storage(dtype, [&]<typename S>() {
        SCOPED_TRACE(c10::toString(dtype));
        const AdamwState start = trained(dtype, bits), baseline = start.copy();
        const at::Tensor gradient = start.gradient();
        baseline.advance(*InstructionSet<S>::baseline().adamw, adamw_step_number(4), gradient);

        for (const CpuKernels<S>& kernels : available_kernels<S>()) {
          const AdamwState other = start.copy();
          other.advance(*kernels.adamw, adamw_step_number(4), gradient);
          EXPECT_TRUE(other.equals(baseline));
        }
      });
}

TEST(Adamw, PlainOperationsComputeTheSame) {
  for (const MomentBits bits : {MomentBits::eight, MomentBits::thirty_two})
    for (const at::ScalarType dtype : kTypes) {
      SCOPED_TRACE(c10::toString(dtype));
      const AdamwState ours = trained(dtype, bits), plain = ours.copy();
      const at::Tensor gradient = ours.gradient(), before = ours.values.clone();

      adamw_step(std::vector{ours.with(gradient)}, adamw_step_number(4));
      aten_adamw_step(plain.with(gradient), adamw_step_number(4));

      const double rounding = dtype == at::kHalf ? 1e-3 : dtype == at::kBFloat16 ? 8e-3 : 1e-6;
      EXPECT_TRUE(at::allclose(ours.values, plain.values, rounding, 1e-7));
      EXPECT_FALSE(at::allclose(ours.values, before, rounding, 1e-4));
      for (const auto& [a, b] : {std::pair(ours.first, plain.first), std::pair(ours.second, plain.second)}) {
        if (!a.are_codes()) {
          EXPECT_TRUE(at::allclose(a.values, b.values, 1e-6, 1e-12));
          continue;
        }
        EXPECT_TRUE(at::allclose(a.scales, b.scales, 1e-6));
        const at::Tensor apart = a.values.to(at::kInt).sub(b.values.to(at::kInt)).abs();
        EXPECT_LE(apart.max().item<int>(), 1);
        EXPECT_LE(apart.sum().item<std::int64_t>(), 3);  // of values in the middle between two
      }
    }
}

TEST(Adamw, MomentsAreThoseInFloat32Rounded) {
  const AdamwState codes(kSize, at::kFloat, MomentBits::eight), floats(kSize, at::kFloat, MomentBits::thirty_two);
  floats.values.copy_(codes.values);
  const at::Tensor gradient = codes.gradient();

  adamw_step(std::vector{codes.with(gradient), floats.with(gradient)}, adamw_step_number(1));

  EXPECT_TRUE(at::equal(codes.values, floats.values));  // from moments of 0
  const auto largest = [](const at::Tensor& scales) {
    return scales.repeat_interleave(kMomentBlock).narrow(0, 0, kSize);
  };
  // Half a step of the coarsest decade.
  const at::Tensor first = decoded(codes.first, Moment::first).sub(floats.first.values).abs();
  const at::Tensor second = decoded(codes.second, Moment::second).sub(floats.second.values).abs();
  EXPECT_TRUE(first.le(largest(codes.first.scales).mul(0.9 / 64 / 2 + 1e-6)).all().item<bool>());
  EXPECT_TRUE(second.le(largest(codes.second.scales).mul(0.9 / 128 / 2 + 1e-6)).all().item<bool>());
}

TEST(Adamw, TensorsOfSeveralTypesAndKindsTakeAStepTogether) {
  std::vector<AdamwTensor> together;
  std::vector<AdamwState> states, alone;
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kFloat})
    for (const MomentBits bits : {MomentBits::eight, MomentBits::thirty_two}) {
      states.push_back(trained(dtype, bits));
      alone.push_back(states.back().copy());
      together.push_back(states.back().with(states.back().gradient()));
    }

  adamw_step(together, adamw_step_number(4));

  for (std::size_t i = 0; i < alone.size(); ++i) {
    adamw_step(std::vector{alone[i].with(together[i].gradient)}, adamw_step_number(4));
    EXPECT_TRUE(states[i].equals(alone[i])) << i;
  }
}

TEST(Adamw, ChangesNothingWhereAGradientWasNotFinite) {
  const auto by_kernels = [](const AdamwTensor& tensor, const AdamwStep& step) { adamw_step({&tensor, 1}, step); };
  using Take = std::function<void(const AdamwTensor&, const AdamwStep&)>;
  for (const Take& take : {Take(by_kernels), Take(aten_adamw_step)})
    for (const MomentBits bits : {MomentBits::eight, MomentBits::thirty_two}) {
      const AdamwState state = trained(at::kFloat, bits), before = state.copy();
      AdamwStep step = adamw_step_number(4);
      step.found_inf = at::ones({1});
      const at::Tensor gradient = state.gradient();

      take(state.with(gradient), step);
      EXPECT_TRUE(state.equals(before));

      step.found_inf = at::zeros({1});
      take(state.with(gradient), step);
      EXPECT_FALSE(at::equal(state.values, before.values));
    }
}

TEST(Adamw, BlocksOfZerosStayZero) {
  const at::Tensor values = at::ones({2 * kMomentBlock});
  const Moments first = zero_moments(values, MomentBits::eight), second = zero_moments(values, MomentBits::eight);

  adamw_step(std::vector<AdamwTensor>{{values, at::zeros_like(values), first, second}}, adamw_step_number(1));

  EXPECT_TRUE(at::equal(values, at::full({2 * kMomentBlock}, 0.999F)));
  EXPECT_TRUE(at::equal(decoded(first, Moment::first), at::zeros({2 * kMomentBlock})));
  EXPECT_TRUE(at::equal(decoded(second, Moment::second), at::zeros({2 * kMomentBlock})));
}

}  // namespace
}  // namespace multicard
