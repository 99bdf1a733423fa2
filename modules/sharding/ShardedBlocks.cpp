#include "sharding/ShardedBlocks.hpp"

#include <algorithm>

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/SavedPointer.hpp"

namespace multicard {

// Block i uses slot i % 2. In forward block i + 1 is started when block i is about to compute: the slot that it goes to
// held block i - 1, whose computing has been enqueued before, and a gather waits for what has been enqueued. In
// backward it is block i - 1, in the slot of block i + 1. A block that is needed again while it is still in its slot,
// as the last ones are when backward begins and the first ones when the next pass does, is not gathered again: frozen
// memory does not change. So a step of L blocks takes 2 L - 4 gathers, the first one 2 L - 2.

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

std::size_t rounded_up(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}

}  // namespace

ShardedBlocks::ShardedBlocks(const std::vector<std::vector<at::Tensor>>& blocks, TensorCollectives& collectives,
                             Leftovers leftovers)
    : collectives_(collectives), leftovers_(leftovers) {
  const auto num_ranks = static_cast<std::size_t>(collectives.size());
  std::size_t most = 0;
  for (const std::vector<at::Tensor>& tensors : blocks) {
    BorrowedMemory memory(tensors);
    const std::size_t part = rounded_up(memory.bytes(), num_ranks * BorrowedMemory::kAlignment) / num_ranks;
    most = std::max(most, part * num_ranks);
    blocks_.push_back({std::move(memory), collectives.allocate_flat(static_cast<std::int64_t>(part), at::kByte)});
  }
  const auto options = at::TensorOptions().dtype(at::kByte).device(collectives.device());
  for (Slot& slot : slots_)
    slot.buffer = at::empty({static_cast<std::int64_t>(most)}, options);
  for (Block& block : blocks_) {
    const std::int64_t bytes = block.part.numel();
    block.memory.copy_to(slots_[0].buffer);
    block.part.copy_(slots_[0].buffer.narrow(0, collectives.rank() * bytes, bytes));
    block.memory.take();
  }
}

void ShardedBlocks::before_forward(std::int64_t block) {
  if (block == 0 && are_unequal_) anyone_computes(true);
  use(block);
  start(block + 1);
}

void ShardedBlocks::after_forward(std::int64_t block) {
  blocks_[static_cast<std::size_t>(block)].memory.take();
}

void ShardedBlocks::before_backward(std::int64_t block) {
  use(block);
  start(block - 1);
}

void ShardedBlocks::after_backward(std::int64_t block) {
  blocks_[static_cast<std::size_t>(block)].memory.take();
}

void ShardedBlocks::end_unequal_passes() {
  are_unequal_ = false;
  while (anyone_computes(false))
    idle_forward();
}

bool ShardedBlocks::anyone_computes(bool this_rank) {
  const at::Tensor ranks =
      at::full({1}, this_rank ? 1.0 : 0.0, at::TensorOptions().dtype(at::kFloat).device(collectives_.device()));
  collectives_.all_reduce(ranks);
  return ranks.item<float>() > 0;
}

void ShardedBlocks::idle_forward() {
  for (std::int64_t block = 0; block < num_blocks(); ++block) {
    before_forward(block);
    after_forward(block);
  }
}

void ShardedBlocks::idle_backward() {
  for (std::int64_t block = num_blocks() - 1; block >= 0; --block) {
    before_backward(block);
    after_backward(block);
  }
}

at::Tensor ShardedBlocks::idle_loss() {
  const at::Tensor zero = at::zeros({}, at::TensorOptions().device(collectives_.device())).requires_grad_(true);
  return IdlePass::apply(zero, this);
}

void ShardedBlocks::start(std::int64_t block) {
  if (block < 0 || block >= num_blocks() || slot_of(block).block == block) return;
  Slot& slot = slot_of(block);
  if (slot.block != kNone) blocks_[static_cast<std::size_t>(slot.block)].memory.take();
  if (slot.gathering) slot.gathering->wait();
  if (leftovers_ == Leftovers::poisoned) slot.buffer.fill_(0xff);
  const at::Tensor& part = blocks_[static_cast<std::size_t>(block)].part;
  slot.block = block;
  slot.gathering = collectives_.start_all_gather(part, slot.buffer.narrow(0, 0, part.numel() * collectives_.size()));
  ++num_gathers_;
}

void ShardedBlocks::use(std::int64_t block) {
  start(block);
  Slot& slot = slot_of(block);
  if (slot.gathering) slot.gathering->wait();
  slot.gathering.reset();
  blocks_[static_cast<std::size_t>(block)].memory.lend(slot.buffer);
}

std::int64_t ShardedBlocks::whole_bytes() const {
  std::int64_t bytes = 0;
  for (const Block& block : blocks_)
    bytes += block.memory.contents();
  return bytes;
}

std::int64_t ShardedBlocks::bytes() const {
  std::int64_t bytes = 0;
  for (const Block& block : blocks_)
    bytes += block.part.numel();
  for (const Slot& slot : slots_)
    bytes += slot.buffer.numel();
  return bytes;
}

}  // namespace multicard
