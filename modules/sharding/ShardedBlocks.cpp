#include "sharding/ShardedBlocks.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include "dist/RankConditions.hpp"
#include "kernels/SavedPointer.hpp"

namespace multicard {

// Block i uses slot i % 2, or its own. In forward block i + 1 is started when block i is about to compute: the slot
// that it goes to held block i - 1, whose computing has been enqueued before, and a gather waits for what has been
// enqueued. In backward it is block i - 1, in the slot of block i + 1. A block that is needed again while it is still
// in its slot, as the last ones are when backward begins and the first ones when the next pass does, is not gathered
// again, unless values have changed. So a step of L layers takes 2 L - 4 gathers, the first one, or one after an
// update, 2 L - 2. Ends that are split share a slot: each pass takes 2 more, of tied ends the first one takes 1. The
// output layer is in the slot when backward begins; backward through the embedding does not read it.
//
// The gradients of trained blocks are summed when backward leaves a block: after block i - 1 has started to be
// gathered, and while it computes. That of the output layer is computed along with the loss: its row is there from
// forward on. Tied ends are summed once, when backward leaves the embedding.

namespace {

class IdlePass : public torch::autograd::Function<IdlePass> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& zero, ShardedBlocks* blocks) {
    context->saved_data["blocks"] = saved_value(blocks);
    blocks->idle_forward();
    return zero.view_as(zero);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    saved_pointer<ShardedBlocks>(context->saved_data["blocks"])->idle_backward();
    return {gradients[0], {}};
  }
};

}  // namespace

// Both begin at the same elements: of what is kept they are aligned to as many more bytes as an element has.
SplitBlock::SplitBlock(const std::vector<at::Tensor>& kept_tensors, const std::vector<at::Tensor>& gathered_tensors)
    : ratio(kept_tensors.front().element_size() / gathered_tensors.front().element_size()),
      kept(kept_tensors, ratio * BorrowedMemory::kAlignment),
      gathered(gathered_tensors),
      kept_type(kept_tensors.front().scalar_type()),
      gathered_type(gathered_tensors.front().scalar_type()) {}

void SplitBlock::take() const {
  kept.take();
  gathered.take();
}

ShardSizes::ShardSizes(const std::vector<SplitBlock>& blocks, int num_ranks, Gathered gathered) {
  const auto ranks = static_cast<std::size_t>(num_ranks);
  std::array<std::int64_t, 2> largest_buffers{};  // of layers and of ends
  for (const SplitBlock& block : blocks) {
    const std::size_t whole = rounded_up(block.gathered.bytes(), ranks * BorrowedMemory::kAlignment);
    parts.push_back(static_cast<std::int64_t>(whole / ranks * block.ratio));
    buffers.push_back(static_cast<std::int64_t>(whole));
    std::int64_t& largest_row = block.is_end ? end_row : row;
    largest_row = std::max(largest_row, static_cast<std::int64_t>(whole * block.ratio));
    std::int64_t& largest = largest_buffers[block.is_end ? 1 : 0];
    largest = std::max(largest, buffers.back());
    whole_bytes += block.kept.contents();
  }
  if (gathered == Gathered::until_changed) return;
  buffers.assign(2, largest_buffers[0]);
  if (end_row > 0) buffers.push_back(largest_buffers[1]);
}

std::int64_t ShardSizes::spared_gradient_bytes() const {
  return whole_bytes - std::accumulate(parts.begin(), parts.end(), BlockGradients::kNumRows * row + end_row);
}

std::int64_t ShardSizes::bytes() const {
  return std::accumulate(parts.begin(), parts.end(), std::accumulate(buffers.begin(), buffers.end(), std::int64_t{0}));
}

ShardedBlocks::ShardedBlocks(std::vector<SplitBlock> blocks, const ShardRanks& ranks, Leftovers leftovers)
    : ranks_(ranks),
      collectives_(*ranks.group),
      leftovers_(leftovers),
      sizes_(blocks, collectives_.size(), ranks.gathered) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks[i].take();
    blocks_.push_back({std::move(blocks[i]), collectives_.allocate_flat(sizes_.parts[i], at::kByte)});
  }
  const auto options = at::TensorOptions().dtype(at::kByte).device(collectives_.device());
  for (const std::int64_t bytes : sizes_.buffers)
    slots_.push_back({at::empty({bytes}, options), kNone, nullptr});
  // Here, where ranks agree on errors, and not in fill().
  const bool is_rounded =
      std::any_of(blocks_.begin(), blocks_.end(), [](const Block& block) { return block.memory.is_rounded(); });
  if (is_rounded) wide_ = at::empty({std::max(sizes_.row, sizes_.end_row)}, options);
}

void ShardedBlocks::fill(std::int64_t block, const std::function<void()>& body) {
  const Block& filled = blocks_.at(static_cast<std::size_t>(block));
  const std::int64_t part = filled.part.numel();
  const at::Tensor& row = filled.memory.is_rounded() ? wide_ : slot_of(block).buffer;
  filled.memory.kept.lend(row);
  body();
  filled.part.copy_(row.narrow(0, collectives_.rank() * part, part));
  filled.memory.take();
}

std::optional<ElementRange> ShardedBlocks::kept_of(std::int64_t block, const at::Tensor& tensor) const {
  const Block& holder = blocks_.at(static_cast<std::size_t>(block));
  const std::optional<std::size_t> offset = holder.memory.kept.offset_of(tensor);
  if (!offset) return std::nullopt;
  const auto begin = static_cast<std::int64_t>(*offset), end = begin + static_cast<std::int64_t>(tensor.nbytes());
  const std::int64_t part = holder.part.numel(), kept = collectives_.rank() * part;
  const std::int64_t first = std::max(begin, kept), last = std::min(end, kept + part);
  if (first >= last) return ElementRange{};
  // Parts and storages begin at multiples of the alignment, tensors in them at whole elements.
  return ElementRange{(first - begin) / tensor.element_size(), (last - first) / tensor.element_size()};
}

void ShardedBlocks::set_parameters(const std::vector<std::vector<at::Tensor>>& block_weights) {
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    BlockGradients::Leaves leaves{blocks_[block].memory.is_end};
    for (const at::Tensor& weight : block_weights[block]) {
      const std::optional<std::size_t> offset = blocks_[block].memory.kept.offset_of(weight);
      if (!offset) continue;
      const auto width = static_cast<std::int64_t>(weight.element_size());
      leaves.part = blocks_[block].part.numel() / width;
      leaves.members.emplace_back(weight, static_cast<std::int64_t>(*offset) / width);
    }
    leaves_.push_back(std::move(leaves));
  }
}

void ShardedBlocks::train(CommDtype comm_dtype) {
  gradients_.emplace(leaves_, ranks_, comm_dtype);
}

std::vector<ParameterRow> ShardedBlocks::rows() const {
  std::vector<ParameterRow> rows;
  for (std::size_t block = 0; block < leaves_.size(); ++block) {
    const BlockGradients::Leaves& leaves = leaves_[block];
    const at::Tensor values = blocks_[block].part.view(leaves.members.front().first.scalar_type());
    rows.push_back({&collectives_, leaves.part, leaves.members,
                    gradients_ ? gradients_->part(static_cast<std::int64_t>(block)) : at::Tensor(), values,
                    ranks_.copies == nullptr || ranks_.copies->rank() == 0});
  }
  return rows;
}

void ShardedBlocks::values_changed() {
  for (Slot& slot : slots_) {
    if (slot.gathering) slot.gathering->wait();
    slot.gathering.reset();
    slot.block = kNone;
  }
}

void ShardedBlocks::before_forward(std::int64_t turn) {
  if (turn == 0 && are_unequal_) {
    on_any_rank(collectives_, true);
    if (second_ != nullptr) second_passes_ = second_->num_passes_ + 1;
  }
  num_passed_ = (turn + 1) % num_turns();
  if (num_passed_ == 0) ++num_passes_;
  use(turn);
  start(turn + 1);
  if (is_head(turn) && gradients_ && at::GradMode::is_enabled()) gradients_->open(block_at(turn));
}

void ShardedBlocks::after_forward(std::int64_t turn) {
  blocks_[static_cast<std::size_t>(block_at(turn))].memory.take();
}

void ShardedBlocks::before_backward(std::int64_t turn) {
  if (!is_embedding(turn)) use(turn);
  if (turn > deepest_ && !is_embedding(turn - 1)) start(turn - 1);
  if (gradients_) gradients_->begin(block_at(turn));
}

void ShardedBlocks::after_backward(std::int64_t turn) {
  const bool is_left_open = is_head(turn) && has_tied_ends();
  if (gradients_ && !is_left_open) gradients_->end(block_at(turn));
  blocks_[static_cast<std::size_t>(block_at(turn))].memory.take();
}

void ShardedBlocks::begin_unequal_passes(BlockHooks* second) {
  are_unequal_ = true;
  second_ = dynamic_cast<ShardedBlocks*>(second);
  second_passes_ = 0;
}

// A rank that has failed within a pass, or before the one that follows it, makes the rest of both.
void ShardedBlocks::end_unequal_passes() {
  const at::NoGradGuard no_grad;  // as in the passes of others
  are_unequal_ = false;
  if (num_passed_ > 0) pass_by(num_passed_);
  if (second_ != nullptr && second_->num_passes_ < second_passes_) second_->pass_by(second_->num_passed_);
  while (on_any_rank(collectives_, false)) {
    idle_forward();
    if (second_ != nullptr) second_->idle_forward();
  }
  second_ = nullptr;
}

void ShardedBlocks::pass_by(std::int64_t first) {
  for (std::int64_t turn = first; turn < num_turns(); ++turn) {
    before_forward(turn);
    after_forward(turn);
  }
}

void ShardedBlocks::idle_forward() {
  pass_by(0);
}

void ShardedBlocks::idle_backward() {
  for (std::int64_t turn = num_turns() - 1; turn >= deepest_; --turn) {
    before_backward(turn);
    after_backward(turn);
  }
}

at::Tensor ShardedBlocks::idle_loss() {
  const at::Tensor zero = at::zeros({}, at::TensorOptions().device(collectives_.device())).requires_grad_(true);
  return IdlePass::apply(zero, this);
}

ShardedBlocks::Slot& ShardedBlocks::slot_of(std::int64_t block) {
  const auto number = static_cast<std::size_t>(block);
  if (ranks_.gathered == Gathered::until_changed) return slots_[number];
  return blocks_[number].memory.is_end ? slots_[2] : slots_[number % 2];
}

void ShardedBlocks::start(std::int64_t turn) {
  if (turn < 0 || turn >= num_turns()) return;
  const std::int64_t block = block_at(turn);
  Slot& slot = slot_of(block);
  if (slot.block == block) return;
  if (slot.block != kNone) blocks_[static_cast<std::size_t>(slot.block)].memory.take();
  if (slot.gathering) slot.gathering->wait();
  if (leftovers_ == Leftovers::poisoned) slot.buffer.fill_(0xff);
  const at::Tensor part = sent(blocks_[static_cast<std::size_t>(block)], slot.buffer);
  slot.block = block;
  slot.gathering = collectives_.start_all_gather(part, slot.buffer.narrow(0, 0, part.numel() * collectives_.size()));
  ++num_gathers_;
}

at::Tensor ShardedBlocks::sent(const Block& block, const at::Tensor& buffer) const {
  const SplitBlock& memory = block.memory;
  if (!memory.is_rounded()) return block.part;
  const std::int64_t bytes = block.part.numel() / static_cast<std::int64_t>(memory.ratio);
  at::Tensor place = buffer.narrow(0, collectives_.rank() * bytes, bytes);
  place.view(memory.gathered_type).copy_(block.part.view(memory.kept_type));
  return place;
}

void ShardedBlocks::use(std::int64_t turn) {
  start(turn);
  const std::int64_t block = block_at(turn);
  Slot& slot = slot_of(block);
  if (slot.gathering) slot.gathering->wait();
  slot.gathering.reset();
  blocks_[static_cast<std::size_t>(block)].memory.gathered.lend(slot.buffer);
}

}  // namespace multicard
