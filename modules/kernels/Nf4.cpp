#include "kernels/Nf4.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>

#include "kernels/DynamicMap.hpp"
#include "kernels/cpu/QuantKernels.hpp"
#include "kernels/cpu/TensorValues.hpp"
#include "kernels/cuda/CudaQuant.hpp"

namespace multicard {

namespace {

constexpr std::int64_t kFewestBlocks = 64;  ///< that a thread is started for, and whose scales are computed together

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// The nearest one to the middle of the 1/32768 in which a scaled value lies: as bitsandbytes' CPU code, which looks a
/// table of 65536 up, chooses between neighbours (found from its results).
std::uint8_t nearest_code(float scaled) {
  const auto value = static_cast<float>((std::floor((static_cast<double>(scaled) + 1) * 32768) + 0.5) / 32768 - 1);
  const auto& map = signed_dynamic_map().values;
  const auto* const above = std::lower_bound(std::begin(map), std::end(map), value);
  // The first value has no lower neighbour to compare with, and the last has no upper one.
  if (above == std::begin(map)) return 0;
  const auto code = static_cast<std::uint8_t>(above - std::begin(map));
  if (above == std::end(map)) return 255;
  return value - *(above - 1) <= *above - value ? static_cast<std::uint8_t>(code - 1) : code;
}

at::Tensor table_on(at::Device device, const float* values, std::int64_t size) {
  at::Tensor table = at::empty({size}, at::kFloat);
  std::copy_n(values, size, table.mutable_data_ptr<float>());
  return table.to(device);
}

/// Of devices and types that have no kernel of their own.
void dequantise_by_aten(const Nf4Matrix& matrix, std::int64_t first, const at::Tensor& values) {
  // Elements are packed across rows: `first` must begin a block (Nf4Rows), so that it begins a byte and a scale, too.
  const std::int64_t begin = first * matrix.columns, elements = values.numel();
  const at::Tensor bytes = matrix.packed.narrow(0, begin / 2, ceil_div(elements, 2));
  const at::Tensor codes = at::stack({bytes.bitwise_right_shift(4), bytes.bitwise_and(15)}, 1).flatten();
  const at::Tensor table = table_on(values.device(), kNf4Values, 16);
  const at::Tensor found = table.index_select(0, codes.narrow(0, 0, elements).to(at::kInt));
  const at::Tensor absmax = nf4_scales(matrix).narrow(0, begin / kNf4Block, ceil_div(elements, kNf4Block));
  values.view(-1).copy_(found.mul_(absmax.repeat_interleave(kNf4Block).narrow(0, 0, elements)));
}

/// The scales of `count` blocks from `first` on.
void fill_scales(const Nf4Matrix& matrix, std::int64_t first, std::int64_t count, float* scales) {
  if (!matrix.is_nested()) {
    std::copy_n(matrix.absmax.const_data_ptr<float>() + first, count, scales);
    return;
  }
  const auto* codes = matrix.absmax.const_data_ptr<std::uint8_t>() + first;
  const auto* nested = matrix.nested_absmax.const_data_ptr<float>();
  for (std::int64_t i = 0; i < count; ++i) {
    const float scaled = signed_dynamic_map().values[codes[i]] * nested[(first + i) / kNf4NestedBlock];
    scales[i] = scaled + matrix.nested_offset;  // rounded twice, as the reference does
  }
}

void dequantise_on_cpu(const Nf4Matrix& matrix, std::int64_t first, const at::Tensor& values) {
  const std::int64_t begin = first * matrix.columns, elements = values.numel();
  const auto* packed = matrix.packed.const_data_ptr<std::uint8_t>() + begin / 2;
  with_storage(values.scalar_type(), [&]<typename S>() {
    const QuantKernels<S>& kernels = quant_kernels<S>();
    S* to = mutable_values_of<S>(values);
    // Scales first, for a few blocks at a time on the stack: the inner loop then has one kind of scale.
    at::parallel_for(0, ceil_div(elements, kNf4Block), kFewestBlocks, [&](std::int64_t from, std::int64_t end) {
      float scales[kFewestBlocks];
      for (; from < end; from += kFewestBlocks) {
        const std::int64_t at = from * kNf4Block, blocks = std::min(kFewestBlocks, end - from);
        fill_scales(matrix, begin / kNf4Block + from, blocks, scales);
        kernels.nf4_values(packed + at / 2, scales, std::min(blocks * kNf4Block, elements - at), to + at);
      }
    });
  });
}

/// Quantises float32 scales into the matrix.
void nest_scales(const at::Tensor& scales, Nf4Matrix& matrix) {
  const auto* values = scales.const_data_ptr<float>();
  const std::int64_t blocks = scales.numel();
  // Scales are all positive; without their mean they use both signs of the map, at twice the resolution. The reference
  // takes the mean in float32, hence the last bits that may differ.
  matrix.nested_offset =
      static_cast<float>(std::accumulate(values, values + blocks, 0.0) / static_cast<double>(blocks));
  auto* codes = matrix.absmax.mutable_data_ptr<std::uint8_t>();
  auto* nested = matrix.nested_absmax.mutable_data_ptr<float>();
  for (std::int64_t first = 0; first < blocks; first += kNf4NestedBlock) {
    const std::int64_t end = std::min(blocks, first + kNf4NestedBlock);
    float largest = 0;
    for (std::int64_t i = first; i < end; ++i)
      largest = std::max(largest, std::abs(values[i] - matrix.nested_offset));
    nested[first / kNf4NestedBlock] = largest;
    for (std::int64_t i = first; i < end; ++i)
      codes[i] = largest > 0 ? nearest_code((values[i] - matrix.nested_offset) / largest) : 0;
  }
}

}  // namespace

std::int64_t Nf4Matrix::bytes() const {
  const std::size_t scales = absmax.nbytes() + (is_nested() ? nested_absmax.nbytes() : 0);
  return static_cast<std::int64_t>(packed.nbytes() + scales);
}

Nf4Matrix empty_nf4(std::int64_t rows, std::int64_t columns, DoubleQuantisation nested, at::Device device) {
  Nf4Matrix matrix{rows, columns, {}, {}, {}, 0};
  const auto options = at::TensorOptions().device(device);
  const bool nests = nested == DoubleQuantisation::on;
  matrix.packed = at::empty({ceil_div(rows * columns, 2)}, options.dtype(at::kByte));
  matrix.absmax = at::empty({matrix.num_blocks()}, options.dtype(nests ? at::kByte : at::kFloat));
  if (nests)
    matrix.nested_absmax = at::empty({ceil_div(matrix.num_blocks(), kNf4NestedBlock)}, options.dtype(at::kFloat));
  return matrix;
}

Nf4Matrix quantise_nf4(const at::Tensor& matrix, DoubleQuantisation nested) {
  Nf4Matrix result = empty_nf4(matrix.size(0), matrix.size(1), nested, at::kCPU);
  const at::Tensor values = matrix.to(at::kFloat).contiguous();
  const at::Tensor scales = result.is_nested() ? at::empty({result.num_blocks()}, values.options()) : result.absmax;
  const auto* from = values.const_data_ptr<float>();
  auto* packed = result.packed.mutable_data_ptr<std::uint8_t>();
  auto* absmax = scales.mutable_data_ptr<float>();
  const QuantKernels<float>& kernels = quant_kernels<float>();
  at::parallel_for(0, result.num_blocks(), kFewestBlocks, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t block = first; block < end; ++block) {
      const std::int64_t at = block * kNf4Block, count = std::min(kNf4Block, values.numel() - at);
      absmax[block] = kernels.nf4_codes(from + at, count, packed + at / 2);
    }
  });
  if (result.is_nested()) nest_scales(scales, result);
  return result;
}

at::Tensor nf4_scales(const Nf4Matrix& matrix) {
  if (!matrix.is_nested()) return matrix.absmax;
  const at::Tensor table = table_on(matrix.absmax.device(), signed_dynamic_map().values, 256);
  const at::Tensor nested = matrix.nested_absmax.repeat_interleave(kNf4NestedBlock).narrow(0, 0, matrix.num_blocks());
  return table.index_select(0, matrix.absmax.to(at::kInt)).mul_(nested).add_(matrix.nested_offset);
}

void dequantise_nf4(std::span<const Nf4Rows> rows) {
  if (rows.empty()) return;
  if (has_cuda_quant(rows.front().values)) return cuda_dequantise_nf4(rows);
  for (const Nf4Rows& part : rows)
    if (part.values.is_cpu())
      dequantise_on_cpu(*part.matrix, part.first, part.values);
    else
      dequantise_by_aten(*part.matrix, part.first, part.values);
}

void dequantise_nf4(const Nf4Matrix& matrix, std::int64_t first, const at::Tensor& values) {
  const Nf4Rows rows{&matrix, first, values};
  dequantise_nf4(std::span(&rows, 1));
}

at::Tensor dequantise_nf4(const Nf4Matrix& matrix, at::ScalarType dtype) {
  at::Tensor values = at::empty({matrix.rows, matrix.columns}, matrix.packed.options().dtype(dtype));
  dequantise_nf4(matrix, 0, values);
  return values;
}

}  // namespace multicard
