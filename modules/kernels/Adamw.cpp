#include "kernels/Adamw.hpp"

#include <algorithm>
#include <cstring>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "kernels/AdamwAten.hpp"
#include "kernels/DynamicMap.hpp"
#include "kernels/cpu/AdamwKernels.hpp"
#include "kernels/cpu/TensorValues.hpp"
#include "kernels/cuda/CudaAdamw.hpp"

namespace multicard {

namespace {

constexpr std::int64_t kFewestBlocks = 16;  ///< that a thread is started for

std::int64_t blocks_of(const at::Tensor& values) {
  return (values.numel() + kMomentBlock - 1) / kMomentBlock;
}

AdamwFactors whole_factors(const AdamwStep& step) {
  // On CPUs alone, where the host reads them without waiting; GPU kernels read them from the memory of the device.
  const auto* rates = step.rates.const_data_ptr<float>();
  AdamwFactors factors = step.factors;
  factors.rate = rates[0];
  factors.correction = rates[1];
  return factors;
}

/// Where the CPU can tell.
bool are_left_out(std::span<const AdamwTensor> tensors, const AdamwStep& step) {
  // On a GPU the host does not know, and must not wait for the answer: the kernels look themselves.
  return tensors.front().values.is_cpu() && step.found_inf.defined() && *step.found_inf.const_data_ptr<float>() != 0;
}

/// Of the first ones.
std::size_t num_of_one_type(std::span<const AdamwTensor> tensors) {
  const auto other = std::find_if(tensors.begin(), tensors.end(), [&](const AdamwTensor& tensor) {
    return tensor.values.scalar_type() != tensors.front().values.scalar_type();
  });
  return static_cast<std::size_t>(other - tensors.begin());
}

/// From a block on.
MomentCodes codes_of(const Moments& moments, std::int64_t block) {
  return {moments.values.mutable_data_ptr<std::uint8_t>() + block * kMomentBlock,
          moments.scales.mutable_data_ptr<float>() + block};
}

void step_on_cpu(const AdamwTensor& tensor, const AdamwStep& step) {
  const at::Tensor &values = tensor.values, &gradient = tensor.gradient;
  const Moments &first = tensor.first, &second = tensor.second;
  const AdamwFactors factors = whole_factors(step);
  with_storage(values.scalar_type(), [&]<typename S>() {
    const AdamwKernels<S>& kernels = adamw_kernels<S>();
    const S* slopes = values_of<S>(gradient);
    S* to = mutable_values_of<S>(values);
    // Threads take whole blocks: the scale of a block is known only when all of its moments are.
    at::parallel_for(0, blocks_of(values), kFewestBlocks, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t at = begin * kMomentBlock, count = std::min(end * kMomentBlock, values.numel()) - at;
      if (first.are_codes())
        kernels.with_codes(factors, slopes + at, count, to + at, codes_of(first, begin), codes_of(second, begin));
      else
        kernels.with_floats(factors, slopes + at, count, to + at, first.values.mutable_data_ptr<float>() + at,
                            second.values.mutable_data_ptr<float>() + at);
    });
  });
}

}  // namespace

Moments zero_moments(const at::Tensor& values, MomentBits bits) {
  const at::TensorOptions floats = at::TensorOptions().device(values.device()).dtype(at::kFloat);
  // Code 0 stands for the lowest value of a map, not for 0; it is the scale of 0 that makes the moments 0.
  if (bits == MomentBits::thirty_two) return {at::zeros(values.sizes(), floats), {}};
  return {at::zeros(values.sizes(), floats.dtype(at::kByte)), at::zeros({blocks_of(values)}, floats)};
}

at::Tensor dynamic_maps_on(at::Device device) {
  at::Tensor bytes = at::empty({2, sizeof(DynamicMap)}, at::kByte);
  std::memcpy(bytes[0].mutable_data_ptr(), &signed_dynamic_map(), sizeof(DynamicMap));
  std::memcpy(bytes[1].mutable_data_ptr(), &unsigned_dynamic_map(), sizeof(DynamicMap));
  return bytes.to(device);
}

void adamw_step(std::span<const AdamwTensor> tensors, const AdamwStep& step) {
  if (tensors.empty() || are_left_out(tensors, step)) return;
  while (!tensors.empty()) {
    // Kernels take one type, so that runs of tensors of one type are launched together. Models have one or two types.
    const std::size_t alike = num_of_one_type(tensors);
    const std::span<const AdamwTensor> batch = tensors.first(alike);
    if (has_cuda_adamw(batch.front().values)) {
      cuda_adamw_step(batch, step);
    } else {
      for (const AdamwTensor& tensor : batch)
        tensor.values.is_cpu() ? step_on_cpu(tensor, step) : aten_adamw_step(tensor, step);
    }
    tensors = tensors.subspan(alike);
  }
}

}  // namespace multicard
