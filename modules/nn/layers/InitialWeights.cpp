#include "nn/layers/InitialWeights.hpp"

#include <cmath>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include "device/StagedCopies.hpp"
#include "nn/layers/Random.hpp"

namespace multicard {

// The stream is the tensor's name, not its place: a weight starts with the same values whatever is packed or left out.
void fill_initial_weights(const NamedTensors& weights, const WeightSinks& sinks, double deviation, std::uint64_t seed) {
  const at::NoGradGuard no_grad;
  for (const NamedTensor& entry : weights) {
    at::Tensor weight = entry.tensor;
    if (weight.dim() == 2)
      fill_normal(weight, deviation, seed, stream_of_name(entry.name));
    else
      weight.fill_(entry.name.ends_with("norm.weight") ? 1.0 : 0.0);
  }
  const auto on_device = at::TensorOptions(at::kFloat).device(weights.front().tensor.device());
  for (const WeightSink& sink : sinks) {
    at::Tensor weight = at::empty(sink.shape, on_device);  // billions of values take minutes on a CPU
    fill_normal(weight, deviation, seed, stream_of_name(sink.name));
    sink.fill(weight);
  }
}

void fill_zeros(const NamedTensors& weights) {
  const at::NoGradGuard no_grad;
  for (const NamedTensor& entry : weights)
    if (entry.tensor.storage().nbytes() > 0) at::Tensor(entry.tensor).zero_();
}

void fill_initial_adapters(const NamedTensors& adapters, std::uint64_t seed) {
  const at::NoGradGuard no_grad;
  StagedCopies copies;
  for (std::size_t i = 0; i < adapters.size(); i += 2) {  // A and B in turn
    const at::Tensor& a = adapters[i].tensor;
    // PEFT's kaiming_uniform with a = sqrt(5): bound sqrt(6 / ((1 + 5) in)) = 1 / sqrt(in).
    const double bound = 1.0 / std::sqrt(static_cast<double>(a.size(1)));
    copies.copy(a, uniform_values(a.sizes(), bound, seed, i));
  }
  copies.finish();
}

}  // namespace multicard
