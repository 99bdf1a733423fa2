#include <algorithm>
#include <iterator>
#include <vector>

#include "kernels/DynamicMap.hpp"
#include "kernels/cuda/CudaQuant.hpp"
#include "kernels/cuda/QuantLaunch.hpp"
#include "kernels/cuda/WithType.hpp"

namespace multicard {
namespace {

rows::Nf4Tables made_tables() {
  rows::Nf4Tables tables{};
  std::copy(std::begin(kNf4Values), std::end(kNf4Values), tables.values);
  std::copy(std::begin(signed_dynamic_map().values), std::end(signed_dynamic_map().values), tables.scales);
  return tables;
}

const rows::Nf4Tables& nf4_tables() {
  // About a kilobyte, which goes with each launch as a parameter: no device memory has to be filled first.
  static const rows::Nf4Tables tables = made_tables();
  return tables;
}

rows::Nf4Codes codes_of(const Nf4Matrix& matrix, std::int64_t first) {
  // Nested scales stay those of the matrix: 256 blocks share one, so that the number of the first block is needed, too.
  const std::int64_t begin = first * matrix.columns, block = begin / kNf4Block;
  rows::Nf4Codes codes{
      matrix.packed.const_data_ptr<std::uint8_t>() + begin / 2, nullptr, nullptr, nullptr, matrix.nested_offset, block};
  if (matrix.is_nested()) {
    codes.scale_codes = matrix.absmax.const_data_ptr<std::uint8_t>() + block;
    codes.nested_absmax = matrix.nested_absmax.const_data_ptr<float>();
  } else {
    codes.absmax = matrix.absmax.const_data_ptr<float>() + block;
  }
  return codes;
}

}  // namespace

bool has_cuda_quant(const at::Tensor& values) {
  return values.is_cuda() && is_type_of_kernels(values.scalar_type());
}

void cuda_dequantise_nf4(std::span<const Nf4Rows> all) {
  with_type(all.front().values, [&]<typename S>(cudaStream_t stream) {
    std::vector<rows::Nf4Part<S>> parts;
    for (const Nf4Rows& part : all)
      if (part.values.numel() > 0)
        parts.push_back({codes_of(*part.matrix, part.first), part.values.numel(), part.values.mutable_data_ptr<S>()});
    return rows::launch_nf4_values(parts.data(), static_cast<std::int64_t>(parts.size()), nf4_tables(), stream);
  });
}

void cuda_dequantise_int4(const Int4Matrix& matrix, std::int64_t first, const at::Tensor& values) {
  const std::int64_t begin = first * matrix.columns;
  const rows::Int4Codes codes{matrix.packed.const_data_ptr<std::uint8_t>() + begin / 2,
                              matrix.scales.const_data_ptr<float>() + begin / matrix.group_size, matrix.group_size};
  with_type(values, [&]<typename S>(cudaStream_t stream) {
    return rows::launch_int4_values(codes, values.numel(), values.mutable_data_ptr<S>(), stream);
  });
}

}  // namespace multicard
