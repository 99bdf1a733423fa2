#pragma once
/// \file One block of a Llama-type network.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "nn/language/Attention.hpp"
#include "nn/language/LinearGroup.hpp"
#include "nn/language/Llama.hpp"
#include "nn/language/RmsNorm.hpp"
#include "nn/layers/SavableWeight.hpp"

namespace multicard {

/// What a pass of a batch has in common for all blocks.
struct LlamaPass {
  c10::intrusive_ptr<SequencePlan> plan;
  LinearPass linear;             ///< the dropout seed is the pass's: blocks derive theirs
  std::vector<KvCache*> caches;  ///< of each sequence where tokens continue them, then without gradients; else none
  bool is_repeated = false;      ///< for backward alone, which needs no values of Residual::delta
};

/// The residual stream and what the last layer adds to it; `delta` may be undefined (zero).
struct Residual {
  at::Tensor x, delta;  ///< [tokens, hidden]
};

class LlamaBlock {
 public:
  LlamaBlock(const LlamaConfig& config, std::int64_t number, const at::TensorOptions& options, WeightFormat format);

  /// The linear layers side by side, by what they read.
  std::vector<LinearGroup*> groups() { return {&qkv_, &output_, &gate_up_, &down_}; }
  /// All weights but those that have sinks, by their Hugging Face names.
  NamedTensors weights() const;
  /// Those of the linear layers: lora_A and lora_B in turn.
  NamedTensors adapters() const;
  /// Names of the norms.
  std::vector<std::string> norms() const;
  /// Freezes the norms, and trains copies in `dtype` of those whose names are in `modules`.
  void save_norms(const std::vector<std::string>& modules, at::ScalarType dtype);
  /// Those copies, by the names of PEFT's files.
  NamedTensors saved() const;
  /// Gives the norms and linear layers what their adapters and copies have learned.
  void merge_adapters();

  Residual forward(const Residual& in, const LlamaPass& pass) const;
  /// The same, keeping only the sum of `in` for backward, which computes the block again.
  Residual checkpointed_forward(const Residual& in, const LlamaPass& pass) const;

 private:
  friend class CheckpointedBlock;
  struct Norm {
    std::string name;
    SavableWeight weight;  ///< undefined where the network has no such norm
  };
  enum NormPlace { kInput, kQueries, kKeys, kOutput };
  /// Leaves of the block that autograd must see.
  std::vector<at::Tensor> trained() const;
  /// The weight of a norm in such a pass.
  const at::Tensor& norm_at(NormPlace place, const LlamaPass& pass) const {
    return norms_[place].weight.used(pass.linear.uses_adapters);
  }
  /// The two parts of forward().
  Normed norm_input(const Residual& in, const LlamaPass& pass) const;
  Residual after_norm(const Normed& attn_norm, const LlamaPass& pass) const;

  std::int64_t number_, window_;
  double epsilon_;
  HeadShape shape_;
  std::string name_;
  std::array<Norm, 4> norms_;  ///< by NormPlace
  LinearGroup qkv_, output_, gate_up_, down_;
};

}  // namespace multicard
