#include <vector>

#include "kernels/cuda/AdamwLaunch.hpp"
#include "kernels/cuda/CudaAdamw.hpp"
#include "kernels/cuda/WithType.hpp"

namespace multicard {
namespace {

rows::AdamwRow row_of(const AdamwStep& step) {
  // Addresses on the device, where dynamic_maps_on() has put the bytes of two maps; the host only passes them on.
  const auto map = [&](int i) { return static_cast<const DynamicMap*>(step.maps.select(0, i).const_data_ptr()); };
  return {step.factors, step.rates.const_data_ptr<float>(),
          step.found_inf.defined() ? step.found_inf.const_data_ptr<float>() : nullptr, map(0), map(1)};
}

rows::MomentRow moments_of(const Moments& moments) {
  if (moments.are_codes())
    return {moments.values.mutable_data_ptr<std::uint8_t>(), moments.scales.mutable_data_ptr<float>()};
  return {nullptr, moments.values.mutable_data_ptr<float>()};
}

template <typename S>
rows::AdamwItem<S> item_of(const AdamwTensor& tensor) {
  return {tensor.gradient.const_data_ptr<S>(), tensor.values.mutable_data_ptr<S>(), tensor.values.numel(),
          moments_of(tensor.first), moments_of(tensor.second)};
}

}  // namespace

bool has_cuda_adamw(const at::Tensor& values) {
  return values.is_cuda() && is_type_of_kernels(values.scalar_type());
}

void cuda_adamw_step(std::span<const AdamwTensor> tensors, const AdamwStep& step) {
  with_type(tensors.front().values, [&]<typename S>(cudaStream_t stream) {
    std::vector<rows::AdamwItem<S>> items;
    for (const AdamwTensor& tensor : tensors)
      if (tensor.values.numel() > 0) items.push_back(item_of<S>(tensor));
    return rows::launch_adamw(items.data(), static_cast<std::int64_t>(items.size()), row_of(step), stream);
  });
}

}  // namespace multicard
