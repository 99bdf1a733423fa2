#pragma once
/// \file The embedding and the output head of a Llama-type network.

#include <string>
#include <vector>

#include "nn/language/LlamaConfig.hpp"
#include "nn/layers/SavableWeight.hpp"
#include "state/NamedTensor.hpp"

namespace multicard {

/// Embeddings, the last norm and the output layer, which share a matrix where they are tied. Copies of them that are
/// trained are never tied: that is what PEFT does.
struct LlamaEnds {
  /// The embedding, the norm and, where it is tied, the output layer.
  LlamaEnds(const LlamaConfig& config, const at::TensorOptions& options);
  /// Unless it is tied.
  void add_head();

  /// By their Hugging Face names; the head's are those of the norm and, unless it is tied, of the output layer.
  /// @{
  NamedTensors embedding_weights() const;
  NamedTensors head_weights() const;
  /// @}
  /// Names of all modules, lm_head among them.
  static std::vector<std::string> modules();

  /// Freezes the weights and trains copies in `dtype` of those whose names are in `modules`.
  void save(const std::vector<std::string>& modules, at::ScalarType dtype);
  /// Those copies, by the names of PEFT's files.
  /// @{
  NamedTensors saved_embedding() const;
  NamedTensors saved_head() const;
  /// @}
  /// Gives the weights the values of their copies. Tied ones of which there is a copy are tied no longer.
  void merge();

  SavableWeight embedding, norm, head;
  /// Used instead of the weights, in another type; one where they are tied. Undefined: there is none.
  at::Tensor embedding_copy, head_copy;
  bool is_tied;
};

}  // namespace multicard
