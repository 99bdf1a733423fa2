#include <cstdint>

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include "kernels/cuda/ThreadBlock.hpp"
#include "kernels/cuda/TokenLaunch.hpp"

namespace multicard::rows {

// A softmax in one pass over the logits: each thread keeps (largest, sum of exp(logit - largest)) of its own, and pairs
// are merged by scaling the sum of the smaller largest. Merging is associative, so a block reduces pairs like numbers.
__device__ __forceinline__ Exponentials from_lane(const Exponentials& value, int mask) {
  return {from_lane(value.max, mask), from_lane(value.sum, mask)};
}

namespace {

constexpr int kNormThreads = 512, kLoopThreads = 256, kSoftmaxThreads = 1024;  // at most

template <int kWidth, typename S, typename P>
__global__ void __launch_bounds__(kNormThreads) add_norm_kernel(NormRow<S, P> first, std::int64_t num_rows) {
  for (std::int64_t row = blockIdx.x; row < num_rows; row += gridDim.x) {
    const std::int64_t at = row * first.size;
    NormRow<S, P> one = first;
    one.x += at;
    if (one.delta != nullptr) {
      one.delta += at;
      one.stream += at;
    }
    one.normed += at;
    one.scale += row;
    add_norm<kWidth>(ThreadBlock(), one);
  }
}

template <int kWidth, typename S, typename P>
__global__ void __launch_bounds__(kNormThreads)
    norm_gradient_kernel(NormGradientRow<S, P> first, const float* scale, std::int64_t num_rows) {
  for (std::int64_t row = blockIdx.x; row < num_rows; row += gridDim.x) {
    const std::int64_t at = row * first.size;
    NormGradientRow<S, P> one = first;
    one.dnormed += at;
    if (one.dstream != nullptr) one.dstream += at;
    one.stream += at;
    one.dx += at;
    one.scale = scale[row];
    norm_gradient<kWidth>(ThreadBlock(), one);
  }
}

template <int kWidth, typename S>
__global__ void norm_weight_gradient_kernel(const S* dnormed, const S* stream, const float* scale,
                                            std::int64_t num_rows, std::int64_t size, float* partial) {
  const std::int64_t column = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kWidth;
  if (column >= size) return;
  // Two stages instead of atomic additions: the rows of a part are added in order here, the parts afterwards, so that
  // equal inputs give equal bits.
  const std::int64_t part = blockIdx.y, first = part * kRowsOfPart, rest = num_rows - first;
  norm_weight_gradient<kWidth>(dnormed + first * size + column, stream + first * size + column, scale + first,
                               rest < kRowsOfPart ? rest : kRowsOfPart, size, partial + part * size + column);
}

template <int kWidth, typename S>
__global__ void __launch_bounds__(kLoopThreads)
    swiglu_kernel(const S* gate_and_up, std::int64_t num_rows, std::int64_t size, S* y) {
  for (std::int64_t row = blockIdx.x; row < num_rows; row += gridDim.x)
    swiglu<kWidth>(ThreadBlock(), gate_and_up + row * 2 * size, size, y + row * size);
}

template <int kWidth, typename S>
__global__ void __launch_bounds__(kLoopThreads)
    swiglu_gradient_kernel(const S* dy, const S* gate_and_up, std::int64_t num_rows, std::int64_t size,
                           S* dgate_and_up) {
  for (std::int64_t row = blockIdx.x; row < num_rows; row += gridDim.x)
    swiglu_gradient<kWidth>(ThreadBlock(), dy + row * size, gate_and_up + row * 2 * size, size,
                            dgate_and_up + row * 2 * size);
}

template <int kWidth, typename S>
__global__ void __launch_bounds__(kLoopThreads)
    rope_kernel(S* x, std::int64_t num_rows, std::int64_t row_stride, std::int64_t heads, std::int64_t dim,
                const float* cos, const float* sin, float direction) {
  for (std::int64_t row = blockIdx.x; row < num_rows; row += gridDim.x)
    rope<kWidth>(ThreadBlock(), x + row * row_stride, heads, dim, cos + row * (dim / 2), sin + row * (dim / 2),
                 direction);
}

template <int kWidth, typename S>
__global__ void __launch_bounds__(kSoftmaxThreads)
    softmax_loss_kernel(S* logits, const std::int64_t* targets, std::int64_t num_rows, std::int64_t size,
                        Softmax softmax, float* losses) {
  for (std::int64_t row = blockIdx.x; row < num_rows; row += gridDim.x) {
    const float loss = softmax_loss<kWidth>(ThreadBlock(), logits + row * size, size, targets[row], softmax);
    if (threadIdx.x == 0) losses[row] = loss;
  }
}

template <int kWidth, typename S>
__global__ void __launch_bounds__(kLoopThreads) dropout_kernel(Dropout dropout, const S* x, std::int64_t size, S* y) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x * kWidth;
  for (std::int64_t at = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kWidth; at < size;
       at += step)
    drop<kWidth>(dropout, x, at, y);
}

}  // namespace

template <typename S, typename P>
cudaError_t launch_add_norm(const NormRow<S, P>& first, std::int64_t num_rows, cudaStream_t stream) {
  // A grid without blocks is an error to CUDA, not an empty launch.
  if (num_rows == 0) return cudaSuccess;
  return with_width<S>(first.size, {first.x, first.delta, first.weight, first.stream, first.normed}, [&](auto width) {
    return launch(add_norm_kernel<width(), S, P>, blocks_for(num_rows), threads_for<width()>(first.size, kNormThreads),
                  stream, first, num_rows);
  });
}

template <typename S, typename P>
cudaError_t launch_norm_gradient(const NormGradientRow<S, P>& first, const float* scale, std::int64_t num_rows,
                                 cudaStream_t stream) {
  if (num_rows == 0) return cudaSuccess;
  return with_width<S>(first.size, {first.dnormed, first.dstream, first.stream, first.weight, first.dx},
                       [&](auto width) {
                         return launch(norm_gradient_kernel<width(), S, P>, blocks_for(num_rows),
                                       threads_for<width()>(first.size, kNormThreads), stream, first, scale, num_rows);
                       });
}

template <typename S>
cudaError_t launch_norm_weight_gradient(const S* dnormed, const S* stream_values, const float* scale,
                                        std::int64_t num_rows, std::int64_t size, float* partial, cudaStream_t stream) {
  if (num_rows == 0) return cudaSuccess;
  constexpr unsigned kThreads = 64;
  return with_width<S>(size, {dnormed, stream_values}, [&](auto width) {
    const auto columns = static_cast<unsigned>((size / width() + kThreads - 1) / kThreads);
    const auto parts = static_cast<unsigned>((num_rows + kRowsOfPart - 1) / kRowsOfPart);
    return launch(norm_weight_gradient_kernel<width(), S>, dim3(columns, parts), kThreads, stream, dnormed,
                  stream_values, scale, num_rows, size, partial);
  });
}

template <typename S>
cudaError_t launch_swiglu(const S* gate_and_up, std::int64_t num_rows, std::int64_t size, S* y, cudaStream_t stream) {
  if (num_rows == 0) return cudaSuccess;
  return with_width<S>(size, {gate_and_up, y}, [&](auto width) {
    return launch(swiglu_kernel<width(), S>, blocks_for(num_rows), threads_for<width()>(size, kLoopThreads), stream,
                  gate_and_up, num_rows, size, y);
  });
}

template <typename S>
cudaError_t launch_swiglu_gradient(const S* dy, const S* gate_and_up, std::int64_t num_rows, std::int64_t size,
                                   S* dgate_and_up, cudaStream_t stream) {
  if (num_rows == 0) return cudaSuccess;
  return with_width<S>(size, {dy, gate_and_up, dgate_and_up}, [&](auto width) {
    return launch(swiglu_gradient_kernel<width(), S>, blocks_for(num_rows), threads_for<width()>(size, kLoopThreads),
                  stream, dy, gate_and_up, num_rows, size, dgate_and_up);
  });
}

template <typename S>
cudaError_t launch_rope(S* x, std::int64_t num_rows, std::int64_t row_stride, std::int64_t heads, std::int64_t dim,
                        const float* cos, const float* sin, float direction, cudaStream_t stream) {
  if (num_rows == 0) return cudaSuccess;
  // Rows lie inside a wider matrix (queries, keys and values side by side): each must begin on 16 bytes for packs.
  const std::int64_t steps_of_pack = row_stride * sizeof(S) % kAlignment == 0 ? dim / 2 : 1;
  return with_width<S>(steps_of_pack, {x, cos, sin}, [&](auto width) {
    return launch(rope_kernel<width(), S>, blocks_for(num_rows), threads_for<width()>(heads * dim / 2, kLoopThreads),
                  stream, x, num_rows, row_stride, heads, dim, cos, sin, direction);
  });
}

template <typename S>
cudaError_t launch_softmax_loss(S* logits, const std::int64_t* targets, std::int64_t num_rows, std::int64_t size,
                                Softmax softmax, float* losses, cudaStream_t stream) {
  if (num_rows == 0) return cudaSuccess;
  return with_width<S>(size, {logits}, [&](auto width) {
    return launch(softmax_loss_kernel<width(), S>, blocks_for(num_rows), threads_for<width()>(size, kSoftmaxThreads),
                  stream, logits, targets, num_rows, size, softmax, losses);
  });
}

template <typename S>
cudaError_t launch_dropout(const Dropout& dropout, const S* x, std::int64_t size, S* y, cudaStream_t stream) {
  if (size == 0) return cudaSuccess;
  return with_width<S>(size, {x, y}, [&](auto width) {
    const std::int64_t blocks = (size / width() + kLoopThreads - 1) / kLoopThreads;
    return launch(dropout_kernel<width(), S>, blocks_for(blocks), kLoopThreads, stream, dropout, x, size, y);
  });
}

#define MULTICARD_INSTANTIATE_NORM(S, P)                                                  \
  template cudaError_t launch_add_norm(const NormRow<S, P>&, std::int64_t, cudaStream_t); \
  template cudaError_t launch_norm_gradient(const NormGradientRow<S, P>&, const float*, std::int64_t, cudaStream_t);

#define MULTICARD_INSTANTIATE(S)                                                                                 \
  template cudaError_t launch_norm_weight_gradient(const S*, const S*, const float*, std::int64_t, std::int64_t, \
                                                   float*, cudaStream_t);                                        \
  template cudaError_t launch_swiglu(const S*, std::int64_t, std::int64_t, S*, cudaStream_t);                    \
  template cudaError_t launch_swiglu_gradient(const S*, const S*, std::int64_t, std::int64_t, S*, cudaStream_t); \
  template cudaError_t launch_rope(S*, std::int64_t, std::int64_t, std::int64_t, std::int64_t, const float*,     \
                                   const float*, float, cudaStream_t);                                           \
  template cudaError_t launch_softmax_loss(S*, const std::int64_t*, std::int64_t, std::int64_t, Softmax, float*, \
                                           cudaStream_t);                                                        \
  template cudaError_t launch_dropout(const Dropout&, const S*, std::int64_t, S*, cudaStream_t);

MULTICARD_INSTANTIATE_NORM(float, float)
MULTICARD_INSTANTIATE_NORM(c10::Half, float)
MULTICARD_INSTANTIATE_NORM(c10::Half, c10::Half)
MULTICARD_INSTANTIATE_NORM(c10::BFloat16, float)
MULTICARD_INSTANTIATE_NORM(c10::BFloat16, c10::BFloat16)
MULTICARD_INSTANTIATE(float)
MULTICARD_INSTANTIATE(c10::Half)
MULTICARD_INSTANTIATE(c10::BFloat16)

}  // namespace multicard::rows
