#include "memory/FewLayers.hpp"

#include <utility>

#include "memory/MeasuredGradients.hpp"
#include "train/Optimizer.hpp"

namespace multicard {

namespace {

constexpr int kNumRanks = 2;  ///< passes take as much on any number

RunOptions with_layers(RunOptions options, std::int64_t num_layers) {
  options.model.layers_alone = num_layers;
  return options;
}

}  // namespace

FewLayers::FewLayers(RunOptions options, std::int64_t num_layers, at::Device device, Weights weights)
    : others_(kNumRanks, device),
      model_(with_layers(std::move(options), num_layers), device,
             weights == Weights::split ? ShardRanks{&others_} : ShardRanks{}),
      parameters_(model_.parameters()) {
  make_gradients(model_);
}

MeasuredPair FewLayers::passes() {
  return model_.measured(model_.checkpointing(), measured_backward(model_));
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
