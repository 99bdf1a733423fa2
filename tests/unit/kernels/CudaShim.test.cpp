// What executes GPU kernels on the CPU finds the mistakes that kernels make.
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "cuda_shim/Kernel.hpp"
#include "kernels/cuda/TokenLaunch.hpp"

namespace multicard {
namespace {

using cuda_shim::Execution;
using cuda_shim::ExecutionScope;
using cuda_shim::Order;

constexpr unsigned kThreads = 64;
const std::vector<Execution> kExecutions{
    {Order::ascending, 0, {}}, {Order::descending, 0, {}}, {Order::shuffled, 1, {}}, {Order::shuffled, 2, {}}};

template <typename... Parameters>
cudaError_t run(void (*kernel)(Parameters...), dim3 blocks, dim3 threads, std::common_type_t<Parameters>... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

__global__ void count_kernel(int* visits) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  ++visits[block * blockDim.x * blockDim.y * blockDim.z + thread];
}

TEST(CudaShim, RunsEveryThreadOfEveryBlockOnce) {
  for (const Execution& execution : kExecutions) {
    const ExecutionScope scope(execution);
    std::vector<int> visits(3 * 2 * 4 * 5 * 6 * 7);

    ASSERT_EQ(run(count_kernel, dim3(3, 2, 4), dim3(5, 6, 7), visits.data()), cudaSuccess);

    EXPECT_EQ(visits, std::vector<int>(visits.size(), 1));
  }
}

TEST(CudaShim, RunsTheChosenBlocks) {
  const ExecutionScope scope({Order::ascending, 0, [](std::uint64_t block) { return block == 2; }});
  std::vector<int> visits(4);

  run(count_kernel, dim3(4), dim3(1), visits.data());

  EXPECT_EQ(visits, (std::vector<int>{0, 0, 1, 0}));
}

TEST(CudaShim, RefusesWhatAGpuCannotLaunch) {
  int visits = 0;
  EXPECT_EQ(run(count_kernel, dim3(0), dim3(1), &visits), cudaErrorInvalidConfiguration);
  EXPECT_EQ(run(count_kernel, dim3(1), dim3(1025), &visits), cudaErrorInvalidConfiguration);
  EXPECT_EQ(run(count_kernel, dim3(1, 65536), dim3(1), &visits), cudaErrorInvalidConfiguration);
  EXPECT_EQ(visits, 0);
}

__global__ void exchange_kernel(float* values) {
  float value = static_cast<float>(threadIdx.x);
  for (int mask = 16; mask > 0; mask /= 2)
    value = value * 2 + __shfl_xor_sync(0xFFFFFFFFU, value, mask);
  values[threadIdx.x] = value;
}

TEST(CudaShim, ExchangesValuesWithinAWarp) {
  std::vector<float> expected(kThreads);
  for (unsigned i = 0; i < kThreads; ++i)
    expected[i] = static_cast<float>(i);
  for (unsigned mask = 16; mask > 0; mask /= 2) {
    const std::vector<float> before = expected;
    for (unsigned i = 0; i < kThreads; ++i)
      expected[i] = before[i] * 2 + before[i ^ mask];
  }

  for (const Execution& execution : kExecutions) {
    const ExecutionScope scope(execution);
    std::vector<float> values(kThreads);
    run(exchange_kernel, dim3(1), dim3(kThreads), values.data());
    EXPECT_EQ(values, expected);
  }
}

enum class Barriers { both, first_only, second_only };

/// Each thread takes the value of the next one, twice.
__global__ void rotate_kernel(Barriers barriers, int* values) {
  __shared__ int shared[kThreads];
  int value = static_cast<int>(threadIdx.x);
  for (int turn = 0; turn < 2; ++turn) {
    shared[threadIdx.x] = value;
    if (barriers != Barriers::second_only) __syncthreads();
    value = shared[(threadIdx.x + 1) % kThreads];
    if (barriers != Barriers::first_only) __syncthreads();
  }
  values[threadIdx.x] = value;
}

/// How many of the executions give every thread what it should get.
int num_right(Barriers barriers) {
  int count = 0;
  for (const Execution& execution : kExecutions) {
    const ExecutionScope scope(execution);
    std::vector<int> values(kThreads), expected(kThreads);
    run(rotate_kernel, dim3(1), dim3(kThreads), barriers, values.data());
    for (unsigned i = 0; i < kThreads; ++i)
      expected[i] = static_cast<int>((i + 2) % kThreads);
    count += values == expected ? 1 : 0;
  }
  return count;
}

TEST(CudaShim, ShowsAMissingBarrierByAnotherResult) {
  EXPECT_EQ(num_right(Barriers::both), static_cast<int>(kExecutions.size()));
  EXPECT_LT(num_right(Barriers::first_only), static_cast<int>(kExecutions.size()));
  EXPECT_LT(num_right(Barriers::second_only), static_cast<int>(kExecutions.size()));
}

__global__ void divergent_kernel(bool leaves) {
  if (threadIdx.x == 3) {
    if (leaves) return;
    __shfl_xor_sync(0xFFFFFFFFU, 0.0F, 1);
  }
  __syncthreads();
}

__global__ void lone_lane_kernel(unsigned lanes) {
  if (threadIdx.x == 0) __shfl_xor_sync(lanes, 0.0F, 1);
}

TEST(CudaShim, FindsThreadsThatWaitForever) {
  for (const Execution& execution : kExecutions) {
    const ExecutionScope scope(execution);
    EXPECT_THROW(run(divergent_kernel, dim3(1), dim3(kThreads), true), std::logic_error);
    EXPECT_THROW(run(divergent_kernel, dim3(1), dim3(kThreads), false), std::logic_error);
    EXPECT_THROW(run(lone_lane_kernel, dim3(1), dim3(kThreads), 0xFFFFFFFFU), std::logic_error);
    EXPECT_THROW(run(lone_lane_kernel, dim3(1), dim3(kThreads), 1U), std::logic_error);  // the other is not in it
    EXPECT_NO_THROW(run(divergent_kernel, dim3(1), dim3(3), true));
  }
}

// The sanitizers watch the kernels of modules/ themselves: a result that is too small, and values where 16 bytes are
// stored at once at an address of another alignment.
TEST(CudaShimDeathTest, StopsAtAnAccessOutOfBounds) {
  constexpr std::int64_t kSize = 40;
  const std::vector<float> both(2 * kSize, 1.0F);
  EXPECT_DEATH(
      {
        const auto y = std::make_unique<float[]>(kSize - 1);
        rows::launch_swiglu(both.data(), 1, kSize, y.get(), nullptr);
      },
      "heap-buffer-overflow");
}

TEST(CudaShimDeathTest, StopsAtAMisalignedAccess) {
  alignas(16) const float values[8] = {};
  EXPECT_DEATH(rows::load<4>(values + 1), "misaligned address");
}

}  // namespace
}  // namespace multicard
