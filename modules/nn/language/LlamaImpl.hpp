#pragma once
/// \file What a network of language is made of; for Llama's sources only.

#include <vector>

#include "nn/language/Llama.hpp"
#include "nn/language/LlamaBlock.hpp"
#include "nn/language/LlamaEnds.hpp"
#include "nn/language/Rope.hpp"
#include "nn/layers/BlockHooks.hpp"
#include "nn/losses/TokenLoss.hpp"

namespace multicard {

struct Llama::Impl {
  Impl(const LlamaConfig& shape, const at::TensorOptions& tensor_options, WeightFormat format,
       const Splitting& splitting);

  at::Tensor embedded(const at::Tensor& tokens) const;
  /// The normed output of the last block for embedded tokens, [tokens, hidden].
  at::Tensor hidden(at::Tensor embedded_tokens, c10::intrusive_ptr<SequencePlan> plan, std::int64_t end,
                    std::vector<KvCache*> caches = {});
  at::Tensor hidden(const TextInput& input);
  at::Tensor logits_of(const at::Tensor& hidden_rows) const;
  /// body(hidden, weight of the output layer), while that is there.
  template <class Body>
  at::Tensor with_head(at::Tensor hidden_rows, const Body& body) const {
    const BlockPass through(splits_ends ? hooks.get() : nullptr);
    const auto number = static_cast<std::int64_t>(blocks.size()) + 1;
    through.enter(number, hidden_rows);
    at::Tensor result = body(hidden_rows, head());
    through.leave(number, result);
    return result;
  }

  template <class Function>
  void for_each_group(Function function) {
    for (LlamaBlock& block : blocks)
      for (LinearGroup* group : block.groups())
        function(*group);
  }

  /// The first block, as hooks number them, that backward reaches: all below have nothing that is trained. One more
  /// than the last layer: it reaches none.
  std::int64_t deepest_in_backward() const;

  bool uses_adapters() const { return adapters_state == Adapters::on; }
  OutputWeight head() const;
  /// The number of the first layer among blocks, for hooks.
  std::int64_t first_layer() const { return splits_ends ? 1 : 0; }

  LlamaConfig config;
  at::TensorOptions options;
  at::ScalarType compute;
  LlamaEnds ends;
  bool splits_ends;
  std::vector<LlamaBlock> blocks;
  NamedTensors weights, adapters, parameters;
  GrowingRopeTable table;
  Mode mode = Mode::train;
  Checkpointing checkpointing = Checkpointing::off;
  Adapters adapters_state = Adapters::on;
  double dropout = 0;
  std::int64_t loss_chunk = 0;
  std::uint64_t dropout_seed = 0;
  std::shared_ptr<BlockHooks> hooks;
};

}  // namespace multicard
