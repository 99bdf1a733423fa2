#include <algorithm>
#include <cstdint>

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include "kernels/AdamwFormula.hpp"
#include "kernels/cuda/AdamwLaunch.hpp"
#include "kernels/cuda/ThreadBlock.hpp"

namespace multicard::rows {
namespace {

constexpr int kThreads = 256, kWarpsOfBlock = kThreads / kWarp;
constexpr int kMomentsOfThread = kMomentBlock / kWarp;
// Tensors are named in the launch, as parameters: a table in device memory would need a copy, and a wait for it, in
// each step. Updates of a model of hundreds of tensors are a few launches.
constexpr int kMostItems = 64;  // in the 4096 bytes of a kernel's parameters
constexpr std::int64_t kMostBlocksOfItem = 1024;

/// Tensors of one launch: a row of thread blocks for each.
template <typename S>
struct AdamwItems {
  AdamwItem<S> items[kMostItems];
};
static_assert(sizeof(AdamwItems<float>) + sizeof(AdamwRow) <= 4096);

/// Changes the value `at`, and the moments that belong to it.
template <typename S>
__device__ __forceinline__ void advance(const AdamwItem<S>& item, const AdamwFactors& factors, std::int64_t at,
                                        float& first, float& second) {
  const float slope = static_cast<float>(item.gradient[at]);
  first = next_first_moment(factors, first, slope);
  second = next_second_moment(factors, second, slope);
  const float change = change_of_value(factors, first, second);
  item.values[at] = static_cast<S>(changed_value(factors, static_cast<float>(item.values[at]), change));
}

/// What a thread has of a block of moments.
struct OwnMoments {
  float values[kMomentsOfThread];
  float largest = 0;

  __device__ void note(int i) { largest = larger(values[i] < 0 ? -values[i] : values[i], largest); }
};

__device__ __forceinline__ float decoded(const MomentRow& moments, const DynamicMap& map, std::int64_t block,
                                         std::int64_t at) {
  return map.values[moments.codes[at]] * moments.floats[block];
}

/// \param size values of the block
__device__ void encode(const MomentRow& moments, const DynamicMap& map, const OwnMoments& own, std::int64_t block,
                       std::int64_t size) {
  // All lanes come here, also those without a value of a short block: a reduction waits for the whole warp.
  const Warp warp;
  const float scale = warp.reduce(own.largest, Larger()), inverse = inverse_of_scale(scale);
#pragma unroll
  for (int i = 0; i < kMomentsOfThread; ++i) {
    const int place = warp.lane() + i * kWarp;
    if (place < size) moments.codes[block * kMomentBlock + place] = nearest_code(map, own.values[i] * inverse);
  }
  if (warp.lane() == 0) moments.floats[block] = scale;
}

/// A warp takes a block of codes.
template <typename S>
__device__ void step_block(const AdamwItem<S>& item, const AdamwRow& step, const AdamwFactors& factors,
                           std::int64_t block) {
  const std::int64_t left = item.count - block * kMomentBlock, size = left < kMomentBlock ? left : kMomentBlock;
  OwnMoments moments, squares;
#pragma unroll
  for (int i = 0; i < kMomentsOfThread; ++i) {
    // Neighbouring lanes take neighbouring values in each round, so that a warp reads and writes whole lines.
    const int place = Warp().lane() + i * kWarp;
    if (place >= size) continue;
    const std::int64_t at = block * kMomentBlock + place;
    moments.values[i] = decoded(item.first, *step.first_map, block, at);
    squares.values[i] = decoded(item.second, *step.second_map, block, at);
    advance(item, factors, at, moments.values[i], squares.values[i]);
    moments.note(i);
    squares.note(i);
  }
  encode(item.first, *step.first_map, moments, block, size);
  encode(item.second, *step.second_map, squares, block, size);
}

template <typename S>
__device__ void step_with_codes(const AdamwItem<S>& item, const AdamwRow& step, const AdamwFactors& factors) {
  const std::int64_t blocks = (item.count + kMomentBlock - 1) / kMomentBlock;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kWarpsOfBlock;
  for (std::int64_t block = static_cast<std::int64_t>(blockIdx.x) * kWarpsOfBlock + threadIdx.x / kWarp; block < blocks;
       block += stride)
    step_block(item, step, factors, block);
}

template <typename S>
__device__ void step_with_floats(const AdamwItem<S>& item, const AdamwFactors& factors) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; at < item.count; at += stride)
    advance(item, factors, at, item.first.floats[at], item.second.floats[at]);
}

template <typename S>
__global__ void __launch_bounds__(kThreads) adamw_kernel(AdamwItems<S> items, AdamwRow step) {
  // The skipping of a step whose gradients overflowed: decided on the device, so that the host never waits for it.
  if (step.found_inf != nullptr && *step.found_inf != 0.0F) return;
  AdamwFactors factors = step.factors;
  factors.rate = step.rates[0];
  factors.correction = step.rates[1];
  const AdamwItem<S>& item = items.items[blockIdx.y];
  if (item.first.codes != nullptr)
    step_with_codes(item, step, factors);
  else
    step_with_floats(item, factors);
}

/// Thread blocks for the largest of them.
template <typename S>
unsigned blocks_for_items(const AdamwItems<S>& items, std::int64_t count) {
  std::int64_t most = 1;
  for (std::int64_t i = 0; i < count; ++i) {
    const AdamwItem<S>& item = items.items[i];
    const std::int64_t of_block = item.first.codes != nullptr ? kWarpsOfBlock * kMomentBlock : kThreads;
    most = std::max(most, (item.count + of_block - 1) / of_block);
  }
  return static_cast<unsigned>(std::min(most, kMostBlocksOfItem));
}

}  // namespace

template <typename S>
cudaError_t launch_adamw(const AdamwItem<S>* items, std::int64_t count, const AdamwRow& step, cudaStream_t stream) {
  for (std::int64_t first = 0; first < count; first += kMostItems) {
    const std::int64_t size = std::min<std::int64_t>(kMostItems, count - first);
    AdamwItems<S> batch{};
    std::copy_n(items + first, size, batch.items);
    const dim3 blocks(blocks_for_items(batch, size), static_cast<unsigned>(size));
    const cudaError_t error = launch(adamw_kernel<S>, blocks, kThreads, stream, batch, step);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

#define MULTICARD_INSTANTIATE(S) \
  template cudaError_t launch_adamw(const AdamwItem<S>*, std::int64_t, const AdamwRow&, cudaStream_t);

MULTICARD_INSTANTIATE(float)
MULTICARD_INSTANTIATE(c10::Half)
MULTICARD_INSTANTIATE(c10::BFloat16)

}  // namespace multicard::rows
