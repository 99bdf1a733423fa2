#pragma once
/// \file What a network of language is made of; for Llama's sources only.

#include <vector>

#include "nn/language/Llama.hpp"
#include "nn/language/LlamaBlock.hpp"
#include "nn/language/LlamaEnds.hpp"
#include "nn/language/Rope.hpp"
#include "nn/layers/BlockHooks.hpp"

namespace multicard {

struct Llama::Impl {
  Impl(const LlamaConfig& shape, const at::TensorOptions& tensor_options, WeightFormat format, const BlockMade& made,
       std::optional<at::ScalarType> copies);

  at::Tensor embedded(const at::Tensor& tokens) const;
  /// The normed output of the last block for embedded tokens, [tokens, hidden].
  at::Tensor hidden(at::Tensor embedded_tokens, c10::intrusive_ptr<SequencePlan> plan, std::int64_t end,
                    std::vector<KvCache*> caches = {});
  at::Tensor hidden(const TextInput& input);
  at::Tensor logits_of(const at::Tensor& hidden_rows) const;

  template <class Function>
  void for_each_group(Function function) {
    for (LlamaBlock& block : blocks)
      for (LinearGroup* group : block.groups())
        function(*group);
  }

  /// The first block that backward reaches: all below have nothing that is trained. The number of blocks: none.
  std::int64_t deepest_in_backward() const;

  bool uses_adapters() const { return adapters_state == Adapters::on; }
  const at::Tensor& head() const { return ends.head.used(uses_adapters()); }

  LlamaConfig config;
  at::TensorOptions options;
  at::ScalarType compute;
  LlamaEnds ends;
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
