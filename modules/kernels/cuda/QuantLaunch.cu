#include <algorithm>
#include <cstdint>

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include "kernels/Nf4Values.hpp"
#include "kernels/cuda/QuantLaunch.hpp"
#include "kernels/cuda/ThreadBlock.hpp"

namespace multicard::rows {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kPacksOfThread = 4;
constexpr std::int64_t kMostParts = 8;

/// The parts of a launch.
template <typename S>
struct Nf4Parts {
  Nf4Part<S> parts[kMostParts];
};

/// The tables, near every thread of a block.
struct NearTables {
  float values[16];
  float scales[256];

  /// All threads of the block call it together.
  __device__ void fill(const Nf4Tables& from, bool is_nested) {
    const int thread = static_cast<int>(threadIdx.x);
    if (thread < 16) values[thread] = from.values[thread];
    if (is_nested) scales[thread] = from.scales[thread];
    __syncthreads();
  }
};
static_assert(kThreads == 256, "each thread fills a scale");

struct Nf4Decoder {
  const Nf4Codes& codes;
  const NearTables& tables;

  __device__ float scale(std::int64_t at) const {
    const std::int64_t block = at / kNf4Block;
    if (codes.absmax != nullptr) return codes.absmax[block];
    const float nested = codes.nested_absmax[(codes.first_block + block) / kNf4NestedBlock];
    // Rounded twice, as on CPUs.
    return __fadd_rn(__fmul_rn(tables.scales[codes.scale_codes[block]], nested), codes.nested_offset);
  }
  __device__ float value(int code) const { return tables.values[code]; }
};

struct Int4Decoder {
  const Int4Codes& codes;

  __device__ float scale(std::int64_t at) const { return codes.scales[at / codes.group_size]; }
  // Two's complement of four bits: flipping the sign bit and subtracting it extends the sign.
  __device__ float value(int code) const { return static_cast<float>((code ^ 8) - 8); }
};

__device__ __forceinline__ int code_of(std::uint8_t byte, int i) {
  return i % 2 == 0 ? byte >> 4 : byte & 15;
}

/// Packs of kWidth values, each with one scale.
template <int kWidth, typename S, typename Decoder>
__device__ void decode(const Decoder& decoder, std::int64_t count, S* values) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads * kWidth;
  for (std::int64_t at = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kWidth; at < count;
       at += step) {
    // One scale for the pack: its width divides the block of 64 or the group, and it begins at a multiple of the width.
    const float scale = decoder.scale(at);
    if constexpr (kWidth == 1) {
      const int code = code_of(decoder.codes.packed[at / 2], static_cast<int>(at % 2));
      values[at] = static_cast<S>(decoder.value(code) * scale);
    } else {
      const auto bytes = load<kWidth / 2>(decoder.codes.packed + at / 2);
      Pack<S, kWidth> pack;
#pragma unroll
      for (int i = 0; i < kWidth; ++i)
        pack.values[i] = static_cast<S>(decoder.value(code_of(bytes.values[i / 2], i)) * scale);
      store<kWidth>(values + at, pack);
    }
  }
}

template <int kWidth, typename S>
__global__ void __launch_bounds__(kThreads) nf4_values_kernel(Nf4Parts<S> parts, Nf4Tables tables) {
  const Nf4Part<S>& part = parts.parts[blockIdx.y];
  if (static_cast<std::int64_t>(blockIdx.x) * kThreads * kWidth >= part.count) return;  // blocks of a larger part
  // Blocks that have left did so as a whole: no thread of this one is missing at the barrier in fill().
  __shared__ NearTables near;
  near.fill(tables, part.codes.absmax == nullptr);
  decode<kWidth>(Nf4Decoder{part.codes, near}, part.count, part.values);
}

template <int kWidth, typename S>
__global__ void __launch_bounds__(kThreads) int4_values_kernel(Int4Codes codes, std::int64_t count, S* values) {
  decode<kWidth>(Int4Decoder{codes}, count, values);
}

unsigned blocks_for_values(std::int64_t count, std::int64_t width) {
  const std::int64_t of_block = kThreads * kPacksOfThread * width;
  return blocks_for((count + of_block - 1) / of_block);
}

/// At most kMostParts of them.
template <int kWidth, typename S>
cudaError_t launch_parts(const Nf4Part<S>* parts, std::int64_t count, const Nf4Tables& tables, cudaStream_t stream) {
  Nf4Parts<S> together{};
  std::copy_n(parts, count, together.parts);
  std::int64_t most = 0;
  for (std::int64_t i = 0; i < count; ++i)
    most = std::max(most, parts[i].count);
  const dim3 blocks(blocks_for_values(most, kWidth), static_cast<unsigned>(count));
  return launch(nf4_values_kernel<kWidth, S>, blocks, kThreads, stream, together, tables);
}

}  // namespace

template <typename S>
cudaError_t launch_nf4_values(const Nf4Part<S>* parts, std::int64_t count, const Nf4Tables& tables,
                              cudaStream_t stream) {
  constexpr int kFull = kAlignment / sizeof(S);
  // One width for all parts, since they share launches. Matrices of models have it; odd ones take the slow way
  // together.
  const bool has_packs = std::all_of(parts, parts + count, [](const Nf4Part<S>& part) {
    return part.count % kFull == 0 && are_aligned({part.codes.packed, part.values});
  });
  for (std::int64_t first = 0; first < count; first += kMostParts) {
    const std::int64_t size = std::min(kMostParts, count - first);
    const cudaError_t error = has_packs ? launch_parts<kFull>(parts + first, size, tables, stream)
                                        : launch_parts<1>(parts + first, size, tables, stream);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

template <typename S>
cudaError_t launch_int4_values(const Int4Codes& codes, std::int64_t count, S* values, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  return with_width<S>(codes.group_size, {codes.packed, values}, [&](auto width) {
    return launch(int4_values_kernel<width(), S>, blocks_for_values(count, width()), kThreads, stream, codes, count,
                  values);
  });
}

#define MULTICARD_INSTANTIATE(S)                                                                           \
  template cudaError_t launch_nf4_values(const Nf4Part<S>*, std::int64_t, const Nf4Tables&, cudaStream_t); \
  template cudaError_t launch_int4_values(const Int4Codes&, std::int64_t, S*, cudaStream_t);

MULTICARD_INSTANTIATE(float)
MULTICARD_INSTANTIATE(c10::Half)
MULTICARD_INSTANTIATE(c10::BFloat16)

}  // namespace multicard::rows
