// The GPU kernels of AdamW with moments of 8 bits, compiled as C++ and executed by the CPU (tests/cuda_shim), against
// the loops of CPUs: the same bits, in every order of threads.
#include "kernels/cuda/CudaAdamw.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "cuda_shim/Execution.hpp"
#include "kernels/cpu/AdamwKernelsBody.hpp"
#include "unit/kernels/adamw_state.hpp"

namespace multicard {
namespace {

using cuda_shim::Execution;
using cuda_shim::ExecutionScope;
using cuda_shim::Order;
using test::adamw_step_number;
using test::AdamwState;

const std::vector<at::ScalarType> kTypes{at::kFloat, at::kHalf, at::kBFloat16};
/// In part of a block of moments, in one, and in more than a thread block's.
const std::vector<std::int64_t> kSizes{1, 31, 200, 256, 257, 1031, 8 * 256 + 40};

TEST(CudaAdamw, StepsHaveTheBitsOfCpus) {
  for (const Order order : {Order::ascending, Order::descending, Order::shuffled})
    for (const MomentBits bits : {MomentBits::eight, MomentBits::thirty_two})
      for (const at::ScalarType dtype : kTypes)
        for (const std::int64_t size : kSizes) {
          SCOPED_TRACE(std::string(c10::toString(dtype)) + ", size " + std::to_string(size));
          const ExecutionScope scope(Execution{order, 1, {}});
          const AdamwState on_gpu(size, dtype, bits), on_cpu = on_gpu.copy();
          for (int number = 1; number <= 4; ++number) {
            const at::Tensor gradient = on_cpu.gradient();
            if (number == 3) gradient.zero_();

            cuda_adamw_step(std::vector{on_gpu.with(gradient)}, adamw_step_number(number));
            with_storage(dtype,
                         [&]<typename S>() { on_cpu.advance(kAdamwKernels<S>, adamw_step_number(number), gradient); });

            EXPECT_TRUE(on_gpu.equals(on_cpu)) << "step " << number;
          }
        }
}

TEST(CudaAdamw, ManyTensorsOfBothKindsTakeAStepTogether) {
  std::vector<AdamwTensor> tensors;
  std::vector<AdamwState> states, expected;
  for (std::int64_t i = 0; i < 150; ++i) {  // more than a launch takes
    states.emplace_back(i * 37 % 600, at::kFloat, i % 3 == 0 ? MomentBits::thirty_two : MomentBits::eight);
    expected.push_back(states.back().copy());
    tensors.push_back(states.back().with(states.back().gradient()));
  }

  cuda_adamw_step(tensors, adamw_step_number(1));

  for (std::size_t i = 0; i < states.size(); ++i) {
    expected[i].advance(kAdamwKernels<float>, adamw_step_number(1), tensors[i].gradient);
    EXPECT_TRUE(states[i].equals(expected[i])) << i;
  }
}

TEST(CudaAdamw, ChangesNothingWhereAGradientWasNotFinite) {
  for (const MomentBits bits : {MomentBits::eight, MomentBits::thirty_two}) {
    const AdamwState state(700, at::kFloat, bits), before = state.copy();
    AdamwStep step = adamw_step_number(1);

    step.found_inf = at::ones({1});
    cuda_adamw_step(std::vector{state.with(at::randn({700}))}, step);
    EXPECT_TRUE(state.equals(before));

    step.found_inf = at::zeros({1});
    cuda_adamw_step(std::vector{state.with(at::randn({700}))}, step);
    EXPECT_FALSE(state.equals(before));
  }
}

TEST(CudaAdamw, TakesNoValues) {
  for (const MomentBits bits : {MomentBits::eight, MomentBits::thirty_two}) {
    const AdamwState none(0, at::kFloat, bits);

    EXPECT_NO_THROW(cuda_adamw_step(std::vector{none.with(none.values)}, adamw_step_number(1)));
  }
}

}  // namespace
}  // namespace multicard
