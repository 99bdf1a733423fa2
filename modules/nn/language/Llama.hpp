#pragma once
/// \file Llama-type language models: forward, loss and adapters of one replica on one device.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include <ATen/core/Tensor.h>

#include "base/Mode.hpp"
#include "base/RowShape.hpp"
#include "nn/language/EmbeddingNoise.hpp"
#include "nn/language/KvCache.hpp"
#include "nn/language/LlamaConfig.hpp"
#include "nn/language/Lora.hpp"
#include "nn/language/Splitting.hpp"
#include "nn/layers/BaseWeight.hpp"
#include "state/NamedTensor.hpp"
#include "state/WeightSink.hpp"

namespace multicard {

/// Rows of tokens on the network's device.
struct TextInput {
  at::Tensor tokens;   ///< int64 [rows, width]; what follows a row's sequences is padding (any valid token)
  at::Tensor targets;  ///< int64 [rows, width]: the token to be predicted at this position, or -100 for none
  /// Of each row, on the host: the lengths of its sequences (positions restart with each, and each sees only itself)
  /// and how many targets are not -100, which on a GPU is believed.
  std::span<const RowShape> shapes;
  EmbeddingNoise noise = {};  ///< of loss_sum()
};

class BlockHooks;

/// New tokens of a sequence.
struct Continued {
  KvCache* cache = nullptr;  ///< what has been read of it
  std::int64_t count = 0;    ///< at least 1
};

/// Of each sequence of a batch, on the network's device.
struct SequenceLosses {
  at::Tensor sums;         ///< float64 [sequences]: minus the log-probability of its targets
  at::Tensor num_targets;  ///< float64 [sequences]
};

/// Whether backward keeps all activations, or those between blocks only and computes the others again.
enum class Checkpointing { off, per_layer };
/// Whether the forward pass uses adapters.
enum class Adapters { on, off };

/// The network of LlamaConfig. Weights have one type, adapters theirs; what they are multiplied in is the compute type.
/// Norms, softmax and loss are computed in float32 at least.
///
/// Never use it under at::autocast: it casts by itself.
class Llama {
 public:
  /// Weights are not initialised: fill weights() and sinks(), or call initialise(). All of them are trained until
  /// add_adapters(); quantised ones never are. \throws UsageError as check_group_size() (nn/language/Int4Weight.hpp)
  Llama(const LlamaConfig& config, at::ScalarType weights_dtype, at::Device device, WeightFormat format = {},
        const Splitting& splitting = {});
  ~Llama();
  Llama(const Llama&) = delete;
  Llama& operator=(const Llama&) = delete;

  const LlamaConfig& config() const;
  at::Device device() const;

  /// By their Hugging Face names, without lm_head.weight where it is tied, and without quantised ones. Filling them in
  /// place (under a NoGradGuard) is allowed at any time; replacing their memory (set_data) is not.
  const NamedTensors& weights() const;
  /// What takes the quantised weights. Used as long as the network.
  WeightSinks sinks();
  /// Those of a block.
  NamedTensors block_weights(std::int64_t block) const;
  /// Those of what is split, in the order of Splitting::made.
  /// @{
  NamedTensors split_weights(std::int64_t number) const;
  WeightSinks split_sinks(std::int64_t number);
  /// @}
  /// Bytes that weights(), and quantised ones, take on this rank.
  std::int64_t weight_bytes() const;
  /// Random weights, a function of seed, name and element: N(0, initializer_range^2) for matrices, 1 for norms, 0 for
  /// biases. On a GPU they are made there.
  void initialise(std::uint64_t seed);

  /// The names of the blocks' linear layers, which can have adapters, in the order of the network.
  std::vector<std::string> linear_layers() const;
  /// The names of the modules that can be trained whole along with adapters: embeddings, norms and output layer.
  std::vector<std::string> savable_modules() const;
  /// Freezes the weights and adds adapters: A uniform within 1 / sqrt(in) (PEFT's kaiming_uniform), B = 0, and copies
  /// of the modules to save, so that the network's output is exactly the same. Call it when the weights have their
  /// values, and once only. Errors as adapted_layers(), layer_adapters() and saved_modules().
  void add_adapters(const AdapterOptions& options);
  /// By the names of PEFT's files (base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight), those of modules to
  /// save too (base_model.model.lm_head.weight); none before add_adapters().
  const NamedTensors& adapters() const;
  /// What is trained: adapters, or all weights. Leaves that require gradients.
  const NamedTensors& parameters() const;
  /// Adds s B A to the weights, computed in float32 at least, gives those of modules to save the values of their
  /// copies, and removes the adapters; the weights stay frozen. Tied embeddings of which one side was saved are tied no
  /// longer.
  void merge_adapters();

  /// Type of matrix products and of activations; the start is the type of the weights.
  void set_compute_dtype(at::ScalarType dtype);
  /// Mode::train (the start) applies dropout.
  void set_training(Mode mode);
  /// Dropout of the next forward passes is a function of this seed, the layer and the element's index: give each step,
  /// micro-batch and rank another one.
  void set_dropout_seed(std::uint64_t seed);
  void set_checkpointing(Checkpointing checkpointing);
  void set_adapters(Adapters adapters);
  /// Of weights in WeightFormat::Kind::fake_int4, between a backward and the next forward pass; it starts on.
  void set_fake_quantisation(FakeQuantisation state);

  /// Called by all passes from now on.
  void set_block_hooks(std::shared_ptr<BlockHooks> hooks);
  /// Null where there are none.
  BlockHooks* block_hooks() const;
  /// Collective where there are hooks, which may want all ranks to make the same passes. Calls `body`, in which ranks
  /// may make different numbers of passes, without gradients and without other collectives. \param second null, or a
  /// network that makes a pass after each of these
  void with_unequal_passes(const std::function<void()>& body, const Llama* second = nullptr);

  /// Makes what is kept for the positions below `end`, which the first pass over them would make.
  void prepare_positions(std::int64_t end);
  /// Targets whose logits the loss holds at a time.
  /// @{
  std::int64_t loss_chunk() const;
  void set_loss_chunk(std::int64_t targets);
  /// @}

  /// Sum of the cross-entropy over all targets, 0-dimensional, float32 (float64 when computing in it). Logits exist for
  /// a few positions at a time and for targets only. Records the graph for backward when gradients are enabled; zero,
  /// with zero gradients, when there is no target.
  at::Tensor loss_sum(const TextInput& input);
  /// The same for each sequence, in order of rows.
  SequenceLosses sequence_losses(const TextInput& input);
  /// Logits [rows, width, vocabulary] of rows that are one sequence each, in the compute type; without gradients.
  at::Tensor logits(const at::Tensor& tokens);
  /// Reads tokens int64 [all counts], which are those of one sequence after the other, each after those in its cache,
  /// and gives the logits [sequences, vocabulary] of the last of each, at least float32. Without gradients.
  at::Tensor next_logits(const at::Tensor& tokens, std::span<const Continued> sequences);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace multicard
