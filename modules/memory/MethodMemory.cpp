#include "memory/MethodMemory.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "data/loading/TextDataSource.hpp"
#include "memory/FewLayers.hpp"
#include "memory/RankMemory.hpp"
#include "memory/SplitState.hpp"
#include "nn/language/LanguageFactory.hpp"
#include "nn/language/LlamaConfig.hpp"
#include "sharding/ShardedNetwork.hpp"
#include "tasks/language/DeckAdapters.hpp"
#include "tasks/language/LanguageModel.hpp"

namespace multicard {

namespace {

/// For networks of a few layers, which are then adapted alike: with the largest of the ranks, and without modules that
/// single layers train whole.
RunOptions with_equal_layers(RunOptions options) {
  MethodOptions& method = options.method;
  for (const auto& [pattern, rank] : method.patterns.rank)
    method.rank = std::max(*method.rank, rank);
  method.patterns = {};
  std::erase_if(method.modules_to_save,
                [](const std::string& module) { return module.find("layers.") != std::string::npos; });
  return options;
}

/// How many weights the adapters of `options` have more than those of `equal`, over all layers of the model.
/// LoRA adds rank x (inputs + outputs) weights to a layer. The network is made on the meta device, where shapes cost no
/// memory: the whole model need not fit for its adapters to be counted.
std::int64_t extra_trained(const RunOptions& options, const RunOptions& equal) {
  const Llama network(LlamaConfig::read(options.model.path), at::kFloat, at::kMeta);
  std::map<std::string, at::Tensor> weights;
  for (const NamedTensor& weight : network.weights())
    weights[weight.name] = weight.tensor;
  const AdapterOptions adapters = adapters_of_deck(options.method);
  const std::vector<std::string> layers = adapted_layers(adapters, network.linear_layers());
  const std::vector<LayerAdapter> ranks =
      adapters.settings.patterns.apply(adapters.settings.common(), layers, adapters.matcher);
  std::int64_t more = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const at::Tensor& weight = weights.at(layers[i] + ".weight");
    more += (ranks[i].rank - *equal.method.rank) * (weight.size(0) + weight.size(1));
  }
  for (const std::string& module : network.savable_modules())
    if (is_module_to_save(module, options.method.modules_to_save) &&
        !is_module_to_save(module, equal.method.modules_to_save))
      more += weights.at(module + ".weight").numel();
  return more;
}

/// What ranks split of the deck's model.
std::vector<SplitBlock> split_blocks_of(const RunOptions& options, at::Device device) {
  NetworkPlan plan = plan_of_shape(options.model.path, base_type(options), options.method.weight_format());
  set_splitting(plan, options, device);
  return split_blocks_of(plan);
}

/// The value of many layers, from those of one and two.
/// One layer measures the layer and the ends (embedding, output layer) together; the difference of two and one is a
/// layer alone.
std::int64_t continued(std::int64_t one, std::int64_t two, std::int64_t num_layers) {
  return num_layers == 1 ? one : two + (num_layers - 2) * (two - one);
}

/// What `bytes` more of trained weights take: gradients as much, states of the optimizer in proportion.
void add_trained(MemoryEstimate& estimate, std::int64_t bytes) {
  const double states = static_cast<double>(estimate.optimizer) / static_cast<double>(estimate.parameters);
  estimate.optimizer += std::llround(states * static_cast<double>(bytes));
  estimate.parameters += bytes;
  estimate.gradients += bytes;
}

MemoryEstimate continued(const MemoryEstimate& one, const MemoryEstimate& two, std::int64_t num_layers) {
  using M = MemoryEstimate;
  MemoryEstimate all;
  for (const auto part : {&M::parameters, &M::gradients, &M::optimizer, &M::frozen, &M::reference, &M::compression})
    all.*part = continued(one.*part, two.*part, num_layers);
  return all;
}

}  // namespace

// What the allocator holds beyond the known parts is `other`. The optimizer's state and the buffers of communication
// and compression are in the estimate but are not allocated here, and so are taken out of the difference.
MethodMemory::MethodMemory(const RunOptions& options, at::Device device, int num_ranks)
    : options_(options),
      device_(device),
      num_ranks_(num_ranks),
      blocks_(split_blocks_of(options, device)),
      num_layers_(LlamaConfig::read(options.model.path).num_layers) {
  const std::int64_t before = allocated_bytes(device);
  const bool has_nccl = device.is_cuda() && num_ranks > 1;
  const SummingRanks ranks{num_ranks, device.is_cuda(), has_nccl ? kNcclBucketBytes : kBucketBytes};
  const RunOptions equal = with_equal_layers(options);
  std::vector<MemoryEstimate> lasting;
  std::int64_t bytes_of_weight = 0;
  for (std::int64_t layers = 1; layers <= std::min<std::int64_t>(2, num_layers_); ++layers) {
    FewLayers network(equal, layers, device);
    passes_.push_back(network.passes());
    lasting.push_back(network.lasting(options, ranks));
    chunk_ = network.chunk();
    bytes_of_weight = network.bytes_of_weight();
    largest_weight_ = network.largest_weight();
    largest_vector_ = network.largest_vector();
    lasting.back().other = std::max<std::int64_t>(0, allocated_bytes(device) - before - lasting.back().on_device() +
                                                         lasting.back().optimizer + lasting.back().communication +
                                                         lasting.back().compression);
  }
  lasting_ = continued(lasting.front(), lasting.back(), num_layers_);
  if (options.method.has_adapters()) add_trained(lasting_, extra_trained(options, equal) * bytes_of_weight);
  add_unequal_blocks();
  if (num_ranks > 1 && !options.method.has_adapters() && can_be_split(options, Shard::full)) measure_split(equal);
  bucket_limit_ = bucket_bytes(options.parallel, ranks);
  lasting_.other = lasting.back().other;
  lasting_.communication = lasting.back().communication;  // of one bucket
  if (options.run.ema_decay > 0) lasting_.average = lasting_.parameters;
  if (device.is_cpu() && options.run.keep_checkpoints > 0)
    lasting_.copies = lasting_.parameters + lasting_.optimizer + lasting_.average + lasting_.compression;
}

// Where products take their weights and leave their gradients is other memory then, whatever the ranks are.
void MethodMemory::measure_split(const RunOptions& equal) {
  for (std::int64_t layers = 1; layers <= std::min<std::int64_t>(2, num_layers_); ++layers)
    split_passes_.push_back(FewLayers(equal, layers, device_, FewLayers::Weights::split).passes());
}

/// How trained weights are gathered; nothing where they are whole.
std::optional<Gathered> MethodMemory::gathered(Shard shard) const {
  return options_.method.has_adapters() ? std::nullopt : gathered_by(options_, shard);
}

/// Each network of frozen weights has them.
void MethodMemory::add_unequal_blocks() {
  if (!options_.method.has_quantised_base()) return;
  const std::int64_t bytes = bytes_beyond_equal_blocks(options_.model.path, weights_type(options_.model.dtype),
                                                       options_.method.weight_format());
  for (const auto part : {&MemoryEstimate::frozen, &MemoryEstimate::reference})
    if (lasting_.*part > 0) lasting_.*part += bytes;
}

/// Under ddp every rank reads the global batch, under dp rank 0, which needs most.
void MethodMemory::add_batches(MemoryEstimate& estimate, std::int64_t rows, std::int64_t width) const {
  const std::int64_t global = options_.run.batch_over(num_ranks_);
  const std::int64_t own = std::max(rows, (global + num_ranks_ - 1) / num_ranks_);
  const std::int64_t read = options_.parallel.strategy == StrategyName::ddp_ds ? own : std::max(own, global);
  const InputMemory input =
      text_batch_memory({options_.data.prefetch, HostMemory::pageable}, {own, read, width}, device_);
  estimate.loader = device_.is_cuda() ? 0 : input.host;  // the question is about the device's memory
  estimate.batches = input.device;
}

void MethodMemory::split(MemoryEstimate& estimate, const ShardCandidate& split) const {
  if (split.shard == Shard::none || split.num_ranks == 1) return;
  const std::optional<Gathered> trained = gathered(split.shard);
  const ShardSizes sizes(blocks_, split.num_ranks, trained.value_or(Gathered::while_computed));
  if ((trained || splits_weights(split.shard)) && estimate.reference > 0) estimate.reference -= sizes.spared_bytes();
  if (splits_weights(split.shard) && !trained) {
    estimate.frozen -= sizes.spared_bytes();
    return;
  }
  if (trained) {
    estimate.parameters -= sizes.spared_bytes();
    estimate.gradients -= sizes.spared_gradient_bytes();
  }
  const std::int64_t in_parts = trained ? sizes.whole_bytes : 0;
  split_state(estimate, {split.num_ranks, in_parts, lasting_.parameters - in_parts,
                         trained ? largest_vector_ : largest_weight_, bucket_limit_});
}

// A layer's workspace in backward is given back before the layer below begins, and so is not multiplied: each further
// layer only adds what it keeps for backward.
MemoryEstimate MethodMemory::with(std::int64_t rows, std::int64_t length, const ShardCandidate& split_by) const {
  const std::int64_t width = length * (options_.method.is_preference() ? 2 : 1), tokens = rows * width;
  const WorkSize size{tokens, tokens, chunk_};
  const bool is_split = split_by.num_ranks > 1 && gathered(split_by.shard) && !split_passes_.empty();
  const std::vector<MeasuredPair>& passes = is_split ? split_passes_ : passes_;
  StageBytes work = passes.back().at_peak(size);
  // At the peak, all but the first and the last layer hold what they hold when backward begins.
  if (num_layers_ > 2) {
    const StageBytes one = passes.front().before_backward(size), two = passes.back().before_backward(size);
    for (const WorkStage stage : {WorkStage::forward, WorkStage::logits})
      work[stage] += (num_layers_ - 2) * (two[stage] - one[stage]);
  }
  MemoryEstimate estimate = lasting_;
  split(estimate, split_by);
  add_batches(estimate, rows, width);
  estimate.set_work(device_.is_cuda() ? with_rounding(work) : work);
  return estimate;
}

}  // namespace multicard
