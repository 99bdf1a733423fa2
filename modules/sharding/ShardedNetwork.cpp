#include "sharding/ShardedNetwork.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <ATen/core/grad_mode.h>

#include "dist/RankConditions.hpp"
#include "nn/language/LanguageNetwork.hpp"
#include "nn/layers/InitialWeights.hpp"

namespace multicard {

namespace {

// Packed weights are made whole, since the scales of a matrix depend on all of it. The largest first, each goes to the
// rank that has least so far: in the end ranks differ by less than one of the smallest.
std::map<std::string, int> owners_of(const WeightSinks& sinks, int num_ranks) {
  const auto size_of = [](const WeightSink& sink) {
    return std::accumulate(sink.shape.begin(), sink.shape.end(), std::int64_t{1}, std::multiplies<>());
  };
  std::vector<const WeightSink*> by_size;
  for (const WeightSink& sink : sinks)
    by_size.push_back(&sink);
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](const WeightSink* a, const WeightSink* b) { return size_of(*a) > size_of(*b); });
  std::vector<std::int64_t> elements(static_cast<std::size_t>(num_ranks), 0);
  std::map<std::string, int> owners;
  for (const WeightSink* sink : by_size) {
    const auto least = std::min_element(elements.begin(), elements.end());
    *least += size_of(*sink);
    owners[sink->name] = static_cast<int>(least - elements.begin());
  }
  return owners;
}

std::vector<std::vector<at::Tensor>> block_weights_of(const Llama& network, std::int64_t num_blocks) {
  std::vector<std::vector<at::Tensor>> all;
  for (std::int64_t block = 0; block < num_blocks; ++block)
    all.push_back(tensors_of(network.split_weights(block)));
  return all;
}

SplitBlock split_block(const BlockMatrices& matrices, const NetworkPlan& plan) {
  SplitBlock block = plan.copies ? SplitBlock(matrices.kept, matrices.multiplied) : SplitBlock(matrices.kept);
  block.is_end = matrices.is_end;
  return block;
}

/// Fills a network.
class Loading {
 public:
  Loading(const NetworkPlan& plan, Llama& network, ShardedBlocks& blocks, TensorCollectives& collectives)
      : plan_(plan),
        network_(network),
        blocks_(blocks),
        collectives_(collectives),
        owners_(owners_of(network.sinks(), collectives.size())) {
    for (std::int64_t block = 0; block < blocks.num_blocks(); ++block)
      for (const NamedTensor& weight : network.split_weights(block))
        block_weights_.insert(weight.name);
  }

  std::uint64_t bytes_read() const { return bytes_read_; }

  /// Collective. \return whether all ranks could
  bool run() {
    for (std::int64_t block = 0; block < blocks_.num_blocks() && plan_.has_values(); ++block)
      if (!fill(block)) return false;
    return done_on_every_rank(collectives_, [&] { fill_rest(); });
  }

 private:
  /// Collective.
  bool fill(std::int64_t block) {
    bool is_filled = false;
    const WeightSinks sinks = network_.split_sinks(block);
    blocks_.fill(block, [&] {
      is_filled = done_on_every_rank(collectives_, [&] { read(block, sinks); });
      if (!is_filled) return;
      for (const WeightSink& sink : sinks)
        sink.share(
            [&](const std::vector<at::Tensor>& tensors) { collectives_.broadcast(tensors, owners_.at(sink.name)); });
    });
    return is_filled;
  }

  void read(std::int64_t block, const WeightSinks& sinks) {
    WeightSinks own;
    std::copy_if(sinks.begin(), sinks.end(), std::back_inserter(own),
                 [&](const WeightSink& sink) { return owners_.at(sink.name) == collectives_.rank(); });
    const NamedTensors weights = network_.split_weights(block);
    if (!plan_.files) return fill_initial_weights(weights, own, plan_.config.initializer_range, *plan_.random_seed);
    for (const NamedTensor& weight : weights) {
      const std::optional<ElementRange> kept = blocks_.kept_of(block, weight.tensor);
      read(weight, kept.value_or(ElementRange{0, weight.tensor.numel()}));
    }
    for (const WeightSink& sink : own)
      bytes_read_ += plan_.files->load_sink(sink, output());
  }

  void read(const NamedTensor& weight, const ElementRange& range) {
    if (range.count == 0) return;
    const at::Tensor values = weight.tensor.view(-1).narrow(0, range.first, range.count);
    bytes_read_ += plan_.files->load_range({weight.name, range.first, values}, output());
  }

  void fill_rest() {
    if (!plan_.has_values()) return fill_zeros(network_.weights());
    NamedTensors rest = network_.weights();
    std::erase_if(rest, [&](const NamedTensor& weight) { return block_weights_.contains(weight.name); });
    if (!plan_.files) return fill_initial_weights(rest, {}, plan_.config.initializer_range, *plan_.random_seed);
    if (output() == OutputLayer::tied && collectives_.rank() == 0) plan_.files->require_one_matrix();
    for (const NamedTensor& weight : rest)
      read(weight, {0, weight.tensor.numel()});
  }

  OutputLayer output() const { return output_layer_of(plan_.config); }

  const NetworkPlan& plan_;
  Llama& network_;
  ShardedBlocks& blocks_;
  TensorCollectives& collectives_;
  std::map<std::string, int> owners_;  ///< of packed weights
  std::set<std::string> block_weights_;
  std::uint64_t bytes_read_ = 0;
};

}  // namespace

ShardedNetwork load_sharded_network(const NetworkPlan& plan, const ShardRanks& ranks,
                                    ShardedBlocks::Leftovers leftovers) {
  const at::NoGradGuard no_grad;
  TensorCollectives& collectives = *ranks.group;
  ShardedNetwork made;
  std::vector<SplitBlock> memories;
  const auto take = [&](const BlockMatrices& matrices) {
    memories.push_back(split_block(matrices, plan));
    memories.back().take();
  };
  bool has_memory = done_on_every_rank(collectives, [&] {
    made.network = std::make_unique<Llama>(plan.config, plan.dtype, collectives.device(), plan.format,
                                           Splitting{take, plan.copies, plan.ends});
  });
  has_memory = has_memory && done_on_every_rank(collectives, [&] {
                 made.blocks = std::make_shared<ShardedBlocks>(std::move(memories), ranks, leftovers);
               });
  made.is_filled = has_memory;
  if (!has_memory) return made;
  made.network->set_block_hooks(made.blocks);
  if (!plan.format.is_quantised())
    made.blocks->set_parameters(block_weights_of(*made.network, made.blocks->num_blocks()));
  Loading loading(plan, *made.network, *made.blocks, collectives);
  made.is_filled = loading.run();
  made.blocks->end_filling();
  made.bytes_read = loading.bytes_read();
  return made;
}

std::vector<SplitBlock> split_blocks_of(const NetworkPlan& plan) {
  std::vector<SplitBlock> memories;
  const auto note = [&](const BlockMatrices& matrices) { memories.push_back(split_block(matrices, plan)); };
  const Llama shapes(plan.config, plan.dtype, at::kMeta, plan.format, Splitting{note, plan.copies, plan.ends});
  return memories;
}

}  // namespace multicard
