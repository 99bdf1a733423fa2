#pragma once
/// \file What a trainer needs of a network on one device.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include "nn/layers/BlockHooks.hpp"
#include "nn/layers/Linear.hpp"
#include "nn/vision/Convolution.hpp"
#include "state/NamedTensor.hpp"

namespace multicard {

/// What a new parameter starts from.
struct Initial {
  enum class Distribution { constant, normal, uniform };
  Distribution distribution = Distribution::constant;
  double value = 0;  ///< the constant, the deviation (of mean 0) or the bound (uniform within +-value)
};

/// A network of one replica: its tensors by name and its forward pass. Names, order, shapes and the distribution of
/// initial values are those of the state dictionary of the torchvision model.
///
/// It runs under at::autocast too: then float32 parameters and statistics go with activations and logits of the
/// autocast type.
class Network {
 public:
  virtual ~Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// Logits [N, classes] of images [N, 3, H, W] (contiguous or channels_last, on the network's device, in its dtype; N
  /// may be 0). Records the graph for backward when gradients are enabled. Collective when there is a statistics
  /// reducer and the mode is train.
  virtual at::Tensor forward(const at::Tensor& images_NCHW) = 0;

  /// Trained tensors (leaves that require gradients), without frozen ones.
  const NamedTensors& parameters() const { return parameters_; }
  /// Running statistics and counters of batch normalisation.
  const NamedTensors& buffers() const { return buffers_; }
  /// Parameters and buffers in the order of the state dictionary.
  const NamedTensors& state() const { return state_; }
  /// Number of trained values.
  std::int64_t num_parameters() const;
  /// Weight and bias of the last layer, whose shapes depend on the number of classes.
  const std::vector<std::string>& classifier_names() const { return classifier_names_; }

  /// Stops training the parameters whose names match one of the patterns of a shell (`*` and `?`, also across dots;
  /// `[...]`): they leave parameters(), stay in state() and get no gradients, and layers below the first trained one
  /// are left out of backward. Running statistics of their normalisations move on unless set_norm_statistics() freezes
  /// them. UsageError, with nothing changed, for a pattern that matches no trained parameter and when none is left.
  void freeze(const std::vector<std::string>& patterns);

  void set_training(Mode mode) { norm_context_.mode = mode; }
  Mode mode() const { return norm_context_.mode; }

  /// With Statistics::frozen, batch normalisation keeps its running statistics in training too.
  void set_norm_statistics(Statistics statistics) { norm_context_.statistics = statistics; }
  /// Statistics over all replicas; null (the start) makes them per replica. `reducer` must outlive its use.
  void set_statistics_reducer(StatisticsReducer* reducer) { norm_context_.reducer = reducer; }
  StatisticsReducer* statistics_reducer() const { return norm_context_.reducer; }

  /// \name Blocks, numbered in the order in which forward passes through them
  /// @{
  /// The trained weights of convolutions, by block; blocks have all but those of the stem, and each has some.
  std::vector<std::vector<at::Tensor>> block_weights() const;
  /// Called around these blocks, as long as they are the same (freeze()); null (the start): none. Hooks that change
  /// memory do so for block_weights() alone.
  void set_block_hooks(std::shared_ptr<BlockHooks> hooks);
  BlockHooks* block_hooks() const { return hooks_.get(); }
  /// @}

  void set_kernels(Kernels kernels) { norm_context_.kernels = kernels; }

  /// Moves all tensors but num_batches_tracked, which stays on the CPU; 4-D weights take `layout`
  /// (at::MemoryFormat::Contiguous or ChannelsLast). The tensors that parameters() and buffers() gave stay the same
  /// objects. Gradients are dropped: call it before training.
  void to(at::Device device, at::ScalarType dtype, at::MemoryFormat layout);

  /// Dropout of the next forward passes is a function of this seed and the element's index: give each step, micro-batch
  /// and rank another one.
  void set_dropout_seed(std::uint64_t seed) { dropout_seed_ = seed; }

 protected:
  /// `seed` of the initial values.
  explicit Network(std::uint64_t seed) : seed_(seed) {}
  /// \name For constructors: append to the state dictionary
  /// @{
  /// Values depend on the seed and the position in the state dictionary.
  at::Tensor add_parameter(const std::string& name, at::IntArrayRef sizes, const Initial& initial);
  /// weight 1, bias 0, running mean 0, running variance 1.
  NormTensors add_norm(const std::string& name, std::int64_t num_channels);
  /// Weights of deviation sqrt(2 / fan_out) (He et al. 2015, arXiv 1502.01852), counting all groups as torch does.
  ConvNorm add_conv_norm(const std::string& convolution, const std::string& norm, const Convolution& shape);
  /// The last layer: `name`.weight [classes, features], `name`.bias [classes]. `dropout` acts before it.
  void add_classifier(const std::string& name, std::int64_t num_features, std::int64_t num_classes,
                      const Initial& weight, const Initial& bias, double dropout);
  /// The next block of forward has these weights of convolutions. \return its place among all
  std::size_t mark_block(std::vector<at::Tensor> weights);
  /// @}
  /// \param block its place \param body what it makes of its input
  at::Tensor in_block(std::size_t block, at::Tensor x, c10::function_ref<at::Tensor(const at::Tensor&)> body) const;
  /// The first layer, as block "stem".
  at::Tensor forward_stem(const ConvNorm& stem, const at::Tensor& images_NCHW, Activation activation) const;
  /// The classifier of the mean over H and W of features [N, C, H, W], after dropout in training.
  at::Tensor classify(const at::Tensor& features_NCHW) const;
  const NormContext& norm_context() const { return norm_context_; }
  std::uint64_t dropout_seed() const { return dropout_seed_; }

 private:
  static constexpr std::int64_t kNone = -1;
  at::Tensor add_buffer(const std::string& name, at::Tensor value);

  std::uint64_t seed_;
  NamedTensors parameters_, buffers_, state_;
  std::vector<std::vector<at::Tensor>> marked_;  ///< weights by place
  std::shared_ptr<BlockHooks> hooks_;
  std::vector<std::int64_t> numbers_;  ///< of the blocks that the hooks know, by place; kNone: of a frozen one
  NormContext norm_context_;
  Linear classifier_;
  std::vector<std::string> classifier_names_;
  double dropout_ = 0;
  std::uint64_t dropout_seed_ = 0;
};

}  // namespace multicard
