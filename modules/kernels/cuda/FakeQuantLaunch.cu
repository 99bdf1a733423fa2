#include <cstdint>

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include "kernels/cuda/FakeQuantLaunch.hpp"
#include "kernels/cuda/FakeQuantRows.hpp"
#include "kernels/cuda/ThreadBlock.hpp"

namespace multicard::rows {
namespace {

// A row has one scale, so one group of threads must see all of it: a warp for the few weights of a group, a block for
// the thousands of activations of a token. The packs it read are kept for the second pass.
constexpr int kWarpsOfBlock = 8, kGroupThreads = kWarp * kWarpsOfBlock, kTokenThreads = 512;

/// A warp takes a group of weights, which are few.
template <int kWidth, typename S>
__global__ void __launch_bounds__(kGroupThreads)
    fake_int4_kernel(const S* weights, std::int64_t groups, std::int64_t size, S* y) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kWarpsOfBlock;
  for (std::int64_t group = static_cast<std::int64_t>(blockIdx.x) * kWarpsOfBlock + threadIdx.x / kWarp; group < groups;
       group += step)
    fake_quantise<Int4Group, kWidth>(Warp(), weights + group * size, size, y + group * size);
}

template <int kWidth, typename S>
__global__ void __launch_bounds__(kGroupThreads)
    fake_int4_gradient_kernel(const S* weights, std::int64_t groups, std::int64_t size, S* gradient) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kWarpsOfBlock;
  for (std::int64_t group = static_cast<std::int64_t>(blockIdx.x) * kWarpsOfBlock + threadIdx.x / kWarp; group < groups;
       group += step)
    fake_quantise_gradient<Int4Group, kWidth>(Warp(), weights + group * size, size, gradient + group * size);
}

template <int kWidth, typename S>
__global__ void __launch_bounds__(kTokenThreads)
    fake_int8_kernel(const S* x, std::int64_t tokens, std::int64_t size, S* y) {
  for (std::int64_t token = blockIdx.x; token < tokens; token += gridDim.x)
    fake_quantise<Int8Token, kWidth>(ThreadBlock(), x + token * size, size, y + token * size);
}

template <int kWidth, typename S>
__global__ void __launch_bounds__(kTokenThreads)
    fake_int8_gradient_kernel(const S* x, std::int64_t tokens, std::int64_t size, S* gradient) {
  for (std::int64_t token = blockIdx.x; token < tokens; token += gridDim.x)
    fake_quantise_gradient<Int8Token, kWidth>(ThreadBlock(), x + token * size, size, gradient + token * size);
}

unsigned blocks_for_groups(std::int64_t groups) {
  return blocks_for((groups + kWarpsOfBlock - 1) / kWarpsOfBlock);
}

/// Packs that leave lanes of a warp idle gain nothing.
template <typename S, typename Body>
cudaError_t with_width_of_group(std::int64_t size, std::initializer_list<const void*> pointers, const Body& body) {
  constexpr std::int64_t kFullWarp = kWarp * kAlignment / sizeof(S);
  return with_width<S>(size < kFullWarp ? 1 : size, pointers, body);
}

}  // namespace

template <typename S>
cudaError_t launch_fake_int4(const S* weights, std::int64_t groups, std::int64_t size, S* y, cudaStream_t stream) {
  // A grid without blocks is an error to CUDA, not an empty launch.
  if (groups == 0) return cudaSuccess;
  return with_width_of_group<S>(size, {weights, y}, [&](auto width) {
    return launch(fake_int4_kernel<width(), S>, blocks_for_groups(groups), kGroupThreads, stream, weights, groups, size,
                  y);
  });
}

template <typename S>
cudaError_t launch_fake_int4_gradient(const S* weights, std::int64_t groups, std::int64_t size, S* gradient,
                                      cudaStream_t stream) {
  if (groups == 0) return cudaSuccess;
  return with_width_of_group<S>(size, {weights, gradient}, [&](auto width) {
    return launch(fake_int4_gradient_kernel<width(), S>, blocks_for_groups(groups), kGroupThreads, stream, weights,
                  groups, size, gradient);
  });
}

template <typename S>
cudaError_t launch_fake_int8(const S* x, std::int64_t tokens, std::int64_t size, S* y, cudaStream_t stream) {
  if (tokens == 0) return cudaSuccess;
  return with_width<S>(size, {x, y}, [&](auto width) {
    return launch(fake_int8_kernel<width(), S>, blocks_for(tokens), threads_for<width()>(size, kTokenThreads), stream,
                  x, tokens, size, y);
  });
}

template <typename S>
cudaError_t launch_fake_int8_gradient(const S* x, std::int64_t tokens, std::int64_t size, S* gradient,
                                      cudaStream_t stream) {
  if (tokens == 0) return cudaSuccess;
  return with_width<S>(size, {x, gradient}, [&](auto width) {
    return launch(fake_int8_gradient_kernel<width(), S>, blocks_for(tokens), threads_for<width()>(size, kTokenThreads),
                  stream, x, tokens, size, gradient);
  });
}

#define MULTICARD_INSTANTIATE(S)                                                                          \
  template cudaError_t launch_fake_int4(const S*, std::int64_t, std::int64_t, S*, cudaStream_t);          \
  template cudaError_t launch_fake_int4_gradient(const S*, std::int64_t, std::int64_t, S*, cudaStream_t); \
  template cudaError_t launch_fake_int8(const S*, std::int64_t, std::int64_t, S*, cudaStream_t);          \
  template cudaError_t launch_fake_int8_gradient(const S*, std::int64_t, std::int64_t, S*, cudaStream_t);

MULTICARD_INSTANTIATE(float)
MULTICARD_INSTANTIATE(c10::Half)
MULTICARD_INSTANTIATE(c10::BFloat16)

}  // namespace multicard::rows
