#include "kernels/Nf4.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>

#include "kernels/cpu/QuantKernels.hpp"
#include "kernels/cpu/TensorValues.hpp"

namespace multicard {

namespace {

constexpr std::int64_t kFewestBlocks = 64;  ///< that a thread is started for

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Entry i of torch.linspace(0.1, 1, steps + 1) in float32, which goes from both ends to the middle.
float bound_of_map(int i, int steps) {
  const float low = 0.1F, high = 1, step = (high - low) / static_cast<float>(steps);
  return i < (steps + 1) / 2 ? std::fma(step, static_cast<float>(i), low)
                             : std::fma(-step, static_cast<float>(steps - i), high);
}

/// bitsandbytes' create_dynamic_map() for signed values of 8 bits: seven decades, the larger the finer.
std::array<float, 256> dynamic_map() {
  std::array<float, 256> map{};
  std::size_t size = 0;
  for (int decade = 0; decade < 7; ++decade) {
    const int steps = 1 << decade;
    const auto power = static_cast<float>(std::pow(10.0, decade - 6));
    for (int i = 0; i < steps; ++i) {
      const float value = power * ((bound_of_map(i, steps) + bound_of_map(i + 1, steps)) / 2);
      map.at(size++) = value;
      map.at(size++) = -value;
    }
  }
  map.at(size++) = 0;
  map.at(size++) = 1;
  std::sort(map.begin(), map.end());
  return map;
}

/// The nearest one to the middle of the 1/32768 in which a scaled value lies: as bitsandbytes' CPU code, which looks a
/// table of 65536 up, chooses between neighbours (found from its results).
std::uint8_t nearest_code(float scaled) {
  const auto value = static_cast<float>((std::floor((static_cast<double>(scaled) + 1) * 32768) + 0.5) / 32768 - 1);
  const std::array<float, 256>& map = nf4_nested_values();
  const auto above = std::lower_bound(map.begin(), map.end(), value);
  if (above == map.begin()) return 0;
  const auto code = static_cast<std::uint8_t>(above - map.begin());
  if (above == map.end()) return 255;
  return value - *(above - 1) <= *above - value ? static_cast<std::uint8_t>(code - 1) : code;
}

at::Tensor table_on(at::Device device, const float* values, std::int64_t size) {
  at::Tensor table = at::empty({size}, at::kFloat);
  std::copy_n(values, size, table.mutable_data_ptr<float>());
  return table.to(device);
}

at::Tensor scales_by_aten(const Nf4Matrix& matrix) {
  const at::Tensor table = table_on(matrix.absmax.device(), nf4_nested_values().data(), 256);
  const at::Tensor nested = matrix.nested_absmax.repeat_interleave(kNf4NestedBlock).narrow(0, 0, matrix.num_blocks());
  return table.index_select(0, matrix.absmax.to(at::kInt)).mul_(nested).add_(matrix.nested_offset);
}

/// Of devices that have no kernel of their own.
void dequantise_by_aten(const Nf4Matrix& matrix, const at::Tensor& scales, std::int64_t first,
                        const at::Tensor& values) {
  const std::int64_t begin = first * matrix.columns, elements = values.numel();
  const at::Tensor bytes = matrix.packed.narrow(0, begin / 2, ceil_div(elements, 2));
  const at::Tensor codes = at::stack({bytes.bitwise_right_shift(4), bytes.bitwise_and(15)}, 1).flatten();
  const at::Tensor table = table_on(values.device(), kNf4Values, 16);
  const at::Tensor found = table.index_select(0, codes.narrow(0, 0, elements).to(at::kInt));
  const at::Tensor absmax = scales.narrow(0, begin / kNf4Block, ceil_div(elements, kNf4Block));
  values.view(-1).copy_(found.mul_(absmax.repeat_interleave(kNf4Block).narrow(0, 0, elements)));
}

/// Quantises float32 scales into the matrix.
void nest_scales(const at::Tensor& scales, Nf4Matrix& matrix) {
  const auto* values = scales.const_data_ptr<float>();
  const std::int64_t blocks = scales.numel();
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

const std::array<float, 256>& nf4_nested_values() {
  static const std::array<float, 256> map = dynamic_map();
  return map;
}

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
  if (!matrix.packed.is_cpu()) return scales_by_aten(matrix);
  at::Tensor scales = at::empty({matrix.num_blocks()}, at::kFloat);
  const auto* codes = matrix.absmax.const_data_ptr<std::uint8_t>();
  const auto* nested = matrix.nested_absmax.const_data_ptr<float>();
  auto* to = scales.mutable_data_ptr<float>();
  const std::array<float, 256>& map = nf4_nested_values();
  at::parallel_for(0, matrix.num_blocks(), kNf4NestedBlock * kFewestBlocks, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t i = first; i < end; ++i) {
      const float scaled = map[codes[i]] * nested[i / kNf4NestedBlock];  // rounded, as the reference does
      to[i] = scaled + matrix.nested_offset;
    }
  });
  return scales;
}

void dequantise_nf4(const Nf4Matrix& matrix, const at::Tensor& scales, std::int64_t first, const at::Tensor& values) {
  if (!values.is_cpu()) return dequantise_by_aten(matrix, scales, first, values);
  const std::int64_t begin = first * matrix.columns, elements = values.numel();
  const auto* packed = matrix.packed.const_data_ptr<std::uint8_t>() + begin / 2;
  const float* absmax = scales.const_data_ptr<float>() + begin / kNf4Block;
  with_storage(values.scalar_type(), [&]<typename S>() {
    const QuantKernels<S>& kernels = quant_kernels<S>();
    S* to = mutable_values_of<S>(values);
    at::parallel_for(0, ceil_div(elements, kNf4Block), kFewestBlocks, [&](std::int64_t from, std::int64_t end) {
      const std::int64_t at = from * kNf4Block;
      kernels.nf4_values(packed + at / 2, absmax + from, std::min(end * kNf4Block, elements) - at, to + at);
    });
  });
}

at::Tensor dequantise_nf4(const Nf4Matrix& matrix, at::ScalarType dtype) {
  at::Tensor values = at::empty({matrix.rows, matrix.columns}, matrix.packed.options().dtype(dtype));
  dequantise_nf4(matrix, nf4_scales(matrix), 0, values);
  return values;
}

}  // namespace multicard
