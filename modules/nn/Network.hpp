#pragma once
/// \file What a trainer needs of a network on one device.

#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

#include "nn/BatchNormAct.hpp"
#include "state/NamedTensor.hpp"

namespace multicard {

/// A network of one replica: its tensors by name and its forward pass. Names and order are those of the state
/// dictionary of the torchvision model.
class Network {
 public:
  virtual ~Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// Logits [N, classes] of images [N, 3, H, W] (contiguous or channels_last, on the network's device, in its dtype; N
  /// may be 0). Records the graph for backward when gradients are enabled. Collective when there is a statistics
  /// reducer and the mode is train.
  virtual at::Tensor forward(const at::Tensor& images_NCHW) = 0;

  /// Trained tensors (leaves that require gradients).
  const NamedTensors& parameters() const { return parameters_; }
  /// Running statistics and counters of batch normalisation.
  const NamedTensors& buffers() const { return buffers_; }
  /// Parameters and buffers in the order of the state dictionary.
  const NamedTensors& state() const { return state_; }
  /// Number of trained values.
  std::int64_t num_parameters() const;

  void set_training(Mode mode) { norm_context_.mode = mode; }
  Mode mode() const { return norm_context_.mode; }

  /// With Statistics::frozen, batch normalisation keeps its running statistics in training too.
  void set_norm_statistics(Statistics statistics) { norm_context_.statistics = statistics; }
  /// Statistics over all replicas; null (the start) makes them per replica. `reducer` must outlive its use.
  void set_statistics_reducer(StatisticsReducer* reducer) { norm_context_.reducer = reducer; }
  StatisticsReducer* statistics_reducer() const { return norm_context_.reducer; }

  void set_kernels(Kernels kernels) { norm_context_.kernels = kernels; }

  /// Moves all tensors; 4-D weights take `layout` (at::MemoryFormat::Contiguous or ChannelsLast), num_batches_tracked
  /// stays int64. The tensors that parameters() and buffers() gave stay the same objects. Gradients are dropped: call
  /// it before training.
  void to(at::Device device, at::ScalarType dtype, at::MemoryFormat layout);

  /// Dropout of the next forward passes is a function of this seed and the element's index: give each step, micro-batch
  /// and rank another one.
  void set_dropout_seed(std::uint64_t seed) { dropout_seed_ = seed; }

 protected:
  Network() = default;
  /// \name For constructors: append to the state dictionary
  /// @{
  at::Tensor add_parameter(const std::string& name, at::Tensor value);
  at::Tensor add_buffer(const std::string& name, at::Tensor value);
  /// weight 1, bias 0, running mean 0, running variance 1.
  NormTensors add_norm(const std::string& name, std::int64_t num_channels);
  /// @}
  const NormContext& norm_context() const { return norm_context_; }
  std::uint64_t dropout_seed() const { return dropout_seed_; }

 private:
  NamedTensors parameters_, buffers_, state_;
  NormContext norm_context_;
  std::uint64_t dropout_seed_ = 0;
};

}  // namespace multicard
