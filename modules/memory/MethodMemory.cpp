#include "memory/MethodMemory.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include <ATen/ops/zeros_like.h>

#include "data/loading/TextDataSource.hpp"
#include "memory/RankMemory.hpp"
#include "nn/language/LanguageFactory.hpp"
#include "nn/language/LlamaConfig.hpp"
#include "sharding/ShardedNetwork.hpp"
#include "tasks/language/DeckAdapters.hpp"
#include "tasks/language/LanguageModel.hpp"
#include "train/Optimizer.hpp"

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

NetworkPlan shape_of(const RunOptions& options, at::Device device) {
  NetworkPlan plan = plan_of_shape(options.model.path, base_type(options), options.method.weight_format());
  plan.copies = type_of_copies(options, device);
  return plan;
}

/// A network of a few layers with room for its gradients.
class FewLayers {
 public:
  FewLayers(RunOptions options, std::int64_t num_layers, at::Device device)
      : model_(with_layers(std::move(options), num_layers), device), parameters_(model_.parameters()) {
    for (const NamedTensor& parameter : parameters_)
      at::Tensor(parameter.tensor).mutable_grad() = at::zeros_like(parameter.tensor);
  }

  MeasuredPair passes() {
    return model_.measured(model_.checkpointing(), [](const at::Tensor& loss) { loss.backward(); });
  }
  MemoryEstimate lasting(const RunOptions& options, const SummingRanks& ranks) const {
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
  /// Bytes of the largest weight of the ends, or of all.
  std::int64_t largest_weight(bool of_ends) const {
    std::int64_t largest = 0;
    for (const auto& [name, tensor] : parameters_)
      if (!of_ends || name.find(".layers.") == std::string::npos)
        largest = std::max(largest, static_cast<std::int64_t>(tensor.nbytes()));
    return largest;
  }
  std::int64_t bytes_of_weight() const { return parameters_.front().tensor.element_size(); }
  std::int64_t chunk() const { return model_.network().loss_chunk(); }

 private:
  static RunOptions with_layers(RunOptions options, std::int64_t num_layers) {
    options.model.layers_alone = num_layers;
    return options;
  }

  LanguageModel model_;
  NamedTensors parameters_;
};

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
    largest_weight_ = network.largest_weight(/*of_ends=*/false);
    largest_end_ = network.largest_weight(/*of_ends=*/true);
    lasting.back().other = std::max<std::int64_t>(0, allocated_bytes(device) - before - lasting.back().on_device() +
                                                         lasting.back().optimizer + lasting.back().communication +
                                                         lasting.back().compression);
  }
  lasting_ = continued(lasting.front(), lasting.back(), num_layers_);
  if (options.method.has_adapters()) add_trained(lasting_, extra_trained(options, equal) * bytes_of_weight);
  add_unequal_blocks();
  const NetworkPlan shape = shape_of(options, device);
  const ShardSizes sizes = sizes_of(shape, num_ranks, Gathered::while_computed);
  spared_ = sizes.spared_bytes();
  spared_of_gathered_ = sizes_of(shape, num_ranks, Gathered::until_changed).spared_bytes();
  spared_gradients_ = sizes.spared_gradient_bytes();
  whole_blocks_ = sizes.whole_bytes;
  bucket_limit_ = bucket_bytes(options.parallel, ranks);
  lasting_.other = lasting.back().other;
  lasting_.communication = lasting.back().communication;  // of one bucket
  if (options.run.ema_decay > 0) lasting_.average = lasting_.parameters;
  if (device.is_cpu() && options.run.keep_checkpoints > 0)
    lasting_.copies = lasting_.parameters + lasting_.optimizer + lasting_.average + lasting_.compression;
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

void MethodMemory::split(MemoryEstimate& estimate, Shard shard) const {
  const bool is_full = shard == Shard::full;
  if (num_ranks_ == 1 || (!is_full && shard != Shard::optimizer)) return;
  const bool has_parts = is_full || splits_trained_blocks(options_);
  const std::int64_t spared = is_full ? spared_ : spared_of_gathered_;
  if (has_parts && estimate.reference > 0) estimate.reference -= spared;
  if (is_full && options_.method.has_adapters()) {
    estimate.frozen -= spared;
    return;
  }
  if (has_parts) {
    estimate.parameters -= spared;
    estimate.gradients -= spared_gradients_;
  }
  const std::int64_t split_weights = has_parts ? whole_blocks_ : 0;
  if (estimate.copies > 0)  // each rank copies its pieces
    estimate.copies -= (lasting_.optimizer + split_weights) / num_ranks_ * (num_ranks_ - 1);
  estimate.optimizer /= num_ranks_;
  // What ranks send each other of weights that are whole: room for one bucket.
  const std::int64_t bucket = std::max(has_parts ? largest_end_ : largest_weight_,
                                       std::min(bucket_limit_, lasting_.parameters - split_weights));
  estimate.other += bucket + bucket / num_ranks_;
}

// A layer's workspace in backward is given back before the layer below begins, and so is not multiplied: each further
// layer only adds what it keeps for backward.
MemoryEstimate MethodMemory::with(std::int64_t rows, std::int64_t length, Shard shard) const {
  const std::int64_t width = length * (options_.method.is_preference() ? 2 : 1), tokens = rows * width;
  const WorkSize size{tokens, tokens, chunk_};
  StageBytes work = passes_.back().at_peak(size);
  // At the peak, all but the first and the last layer hold what they hold when backward begins.
  if (num_layers_ > 2) {
    const StageBytes one = passes_.front().before_backward(size), two = passes_.back().before_backward(size);
    for (const WorkStage stage : {WorkStage::forward, WorkStage::logits})
      work[stage] += (num_layers_ - 2) * (two[stage] - one[stage]);
  }
  MemoryEstimate estimate = lasting_;
  split(estimate, shard);
  add_batches(estimate, rows, width);
  estimate.set_work(device_.is_cuda() ? with_rounding(work) : work);
  return estimate;
}

}  // namespace multicard
