#include "nn/Network.hpp"

#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

namespace multicard {

std::int64_t Network::num_parameters() const {
  std::int64_t count = 0;
  for (const NamedTensor& parameter : parameters_)
    count += parameter.tensor.numel();
  return count;
}

void Network::to(at::Device device, at::ScalarType dtype, at::MemoryFormat layout) {
  for (const NamedTensor& entry : state_) {
    at::Tensor tensor = entry.tensor;
    at::Tensor moved = tensor.detach().to(device, tensor.is_floating_point() ? dtype : tensor.scalar_type());
    if (moved.dim() == 4) moved = moved.contiguous(layout);
    tensor.mutable_grad().reset();
    tensor.set_data(moved);
  }
}

at::Tensor Network::add_parameter(const std::string& name, at::Tensor value) {
  value.requires_grad_(true);
  parameters_.push_back({name, value});
  state_.push_back({name, value});
  return value;
}

at::Tensor Network::add_buffer(const std::string& name, at::Tensor value) {
  buffers_.push_back({name, value});
  state_.push_back({name, value});
  return value;
}

NormTensors Network::add_norm(const std::string& name, std::int64_t num_channels) {
  const auto options = at::TensorOptions().dtype(at::kFloat);
  NormTensors norm;
  norm.weight = add_parameter(name + ".weight", at::ones({num_channels}, options));
  norm.bias = add_parameter(name + ".bias", at::zeros({num_channels}, options));
  norm.running_mean = add_buffer(name + ".running_mean", at::zeros({num_channels}, options));
  norm.running_var = add_buffer(name + ".running_var", at::ones({num_channels}, options));
  norm.num_batches_tracked = add_buffer(name + ".num_batches_tracked", at::zeros({}, options.dtype(at::kLong)));
  return norm;
}

}  // namespace multicard
