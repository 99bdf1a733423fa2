#include "memory/FewLayers.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <ATen/ops/zeros_like.h>

#include "train/Optimizer.hpp"

namespace multicard {

namespace {

constexpr int kNumRanks = 2;  ///< passes take as much on any number

RunOptions with_layers(RunOptions options, std::int64_t num_layers) {
  options.model.layers_alone = num_layers;
  return options;
}

std::int64_t largest_of(const NamedTensors& tensors, std::int64_t most_dimensions) {
  std::int64_t largest = 0;
  for (const NamedTensor& one : tensors)
    if (one.tensor.dim() <= most_dimensions)
      largest = std::max(largest, static_cast<std::int64_t>(one.tensor.nbytes()));
  return largest;
}

}  // namespace

FewLayers::FewLayers(RunOptions options, std::int64_t num_layers, at::Device device, Weights weights)
    : others_(kNumRanks, device),
      model_(with_layers(std::move(options), num_layers), device,
             weights == Weights::split ? ShardRanks{&others_} : ShardRanks{}),
      parameters_(model_.parameters()) {
  std::set<const at::TensorImpl*> in_parts;
  if (SplitParameters* const parts = model_.split_parameters()) in_parts = members_of(parts->rows());
  for (const NamedTensor& parameter : parameters_)
    if (!in_parts.contains(parameter.tensor.unsafeGetTensorImpl()))
      at::Tensor(parameter.tensor).mutable_grad() = at::zeros_like(parameter.tensor);
}

MeasuredPair FewLayers::passes() {
  return model_.measured(model_.checkpointing(), [&](const at::Tensor& loss) {
    loss.backward();
    if (SplitParameters* const parts = model_.split_parameters()) parts->zero_gradients();
  });
}

MemoryEstimate FewLayers::lasting(const RunOptions& options, const SummingRanks& ranks) const {
  MemoryEstimate estimate;
  std::vector<at::Tensor> gradients;
  for (const NamedTensor& parameter : parameters_)
    gradients.push_back(parameter.tensor.grad());
  estimate.communication = communication_bytes(gradients, options.parallel, ranks);
  estimate.compression = compression_bytes(gradients, compression_options(options));
  estimate.parameters = estimate.gradients = bytes_of(parameters_);
  estimate.optimizer = optimizer_bytes(options.optimizer, parameters_);
  estimate.frozen = model_.frozen().weights;
  estimate.reference = model_.frozen().reference;
  return estimate;
}

std::int64_t FewLayers::largest_weight() const {
  return largest_of(parameters_, 2);
}

std::int64_t FewLayers::largest_vector() const {
  return largest_of(parameters_, 1);
}

}  // namespace multicard
