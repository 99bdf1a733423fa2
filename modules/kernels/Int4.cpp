#include "kernels/Int4.hpp"

#include <algorithm>
#include <stdexcept>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>

#include "kernels/FakeQuantValues.hpp"
#include "kernels/cpu/FakeQuantKernels.hpp"
#include "kernels/cpu/TensorValues.hpp"
#include "kernels/cuda/CudaQuant.hpp"

namespace multicard {

namespace {

constexpr std::int64_t kFewestValues = 16384;  ///< that a thread is started for

/// int8 [rows, columns] of packed bytes, anywhere.
at::Tensor codes_of(const at::Tensor& packed) {
  // The shift of a signed type repeats the sign bit, so a nibble in two's complement becomes its int8; the low nibble
  // is shifted up as unsigned first, where nothing can overflow.
  const at::Tensor even = packed.view(at::kChar).bitwise_right_shift(4);  // with the sign
  const at::Tensor odd = packed.bitwise_left_shift(4).view(at::kChar).bitwise_right_shift(4);
  return at::stack({even, odd}, 2).flatten(1);
}

/// Of devices and types that have no kernel of their own.
void dequantise_by_aten(const Int4Matrix& matrix, std::int64_t first, const at::Tensor& values) {
  const std::int64_t count = values.size(0);
  const at::Tensor codes = codes_of(matrix.packed.narrow(0, first, count)).to(at::kFloat);
  const at::Tensor grouped = codes.view({count, -1, matrix.group_size});
  values.copy_(grouped.mul(matrix.scales.narrow(0, first, count).unsqueeze(2)).view({count, matrix.columns}));
}

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

}  // namespace

std::int64_t Int4Matrix::bytes() const {
  return static_cast<std::int64_t>(packed.nbytes() + scales.nbytes());
}

Int4Matrix empty_int4(std::int64_t rows, std::int64_t columns, std::int64_t group_size, at::Device device) {
  const auto options = at::TensorOptions().device(device);
  return {rows, columns, group_size, at::empty({rows, columns / 2}, options.dtype(at::kByte)),
          at::empty({rows, columns / group_size}, options.dtype(at::kFloat))};
}

Int4Matrix quantise_int4(const at::Tensor& matrix, std::int64_t group_size) {
  Int4Matrix result = empty_int4(matrix.size(0), matrix.size(1), group_size, at::kCPU);
  const at::Tensor values = matrix.to(at::kFloat).contiguous();
  const auto* from = values.const_data_ptr<float>();
  auto* packed = result.packed.mutable_data_ptr<std::uint8_t>();
  auto* scales = result.scales.mutable_data_ptr<float>();
  const std::int64_t fewest = std::max<std::int64_t>(1, kFewestValues / group_size);
  at::parallel_for(0, result.scales.numel(), fewest, [&](std::int64_t first, std::int64_t end) {
    const std::int64_t at = first * group_size;
    fake_quant_kernels<float>().int4_codes(from + at, end - first, group_size, packed + at / 2, scales + first);
  });
  return result;
}

void dequantise_int4(const Int4Matrix& matrix, std::int64_t first, const at::Tensor& values) {
  if (has_cuda_quant(values)) return cuda_dequantise_int4(matrix, first, values);
  if (!values.is_cpu()) return dequantise_by_aten(matrix, first, values);
  const std::int64_t size = matrix.group_size, begin = first * matrix.columns;
  const auto* packed = matrix.packed.const_data_ptr<std::uint8_t>() + begin / 2;
  const auto* scales = matrix.scales.const_data_ptr<float>() + begin / size;
  const std::int64_t fewest = std::max<std::int64_t>(1, kFewestValues / size);
  with_storage(values.scalar_type(), [&]<typename S>() {
    S* to = mutable_values_of<S>(values);
    at::parallel_for(0, values.numel() / size, fewest, [&](std::int64_t from, std::int64_t end) {
      fake_quant_kernels<S>().int4_values(packed + from * size / 2, scales + from, end - from, size, to + from * size);
    });
  });
}

at::Tensor dequantise_int4(const Int4Matrix& matrix, at::ScalarType dtype) {
  at::Tensor values = at::empty({matrix.rows, matrix.columns}, matrix.packed.options().dtype(dtype));
  dequantise_int4(matrix, 0, values);
  return values;
}

TorchaoInt4 torchao_of(const Int4Matrix& matrix) {
  const at::Tensor scales = matrix.scales.cpu();
  return {codes_of(matrix.packed.cpu()), scales, at::zeros_like(scales)};
}

Int4Matrix int4_of(const TorchaoInt4& tensors) {
  const auto& [weight, scales, zeros] = tensors;
  require(weight.scalar_type() == at::kChar && weight.dim() == 2 && weight.numel() > 0,
          "the codes are not int8 [out, in]");
  require(scales.scalar_type() == at::kFloat && scales.dim() == 2 && scales.size(0) == weight.size(0) &&
              scales.size(1) > 0 && weight.size(1) % (2 * scales.size(1)) == 0,
          "the scales are not float32 [out, groups] of groups of an even size");
  require(zeros.sizes() == scales.sizes() && zeros.count_nonzero().item<std::int64_t>() == 0,
          "the zero points are not 0");
  // Files of others may say anything: a code outside would lose its upper bits in a nibble, silently.
  require(weight.min().item<int>() >= kInt4Least && weight.max().item<int>() <= kInt4Most,
          "a code is not from -8 to 7");
  // The low four bits of an int8 from -8 to 7 are its two's complement in four bits.
  const at::Tensor nibbles = weight.cpu().bitwise_and(15).to(at::kByte).view({weight.size(0), -1, 2});
  const at::Tensor packed = nibbles.select(2, 0).bitwise_left_shift(4).bitwise_or_(nibbles.select(2, 1));
  return {weight.size(0), weight.size(1), weight.size(1) / scales.size(1), packed, scales.cpu().contiguous()};
}

}  // namespace multicard
