#pragma once
/// \file Blocks of a network, of which each rank holds a part.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "dist/SplitParameters.hpp"
#include "dist/TensorCollectives.hpp"
#include "nn/layers/BlockHooks.hpp"
#include "sharding/BlockGradients.hpp"
#include "sharding/BorrowedMemory.hpp"

namespace multicard {

/// The memory of a block: what ranks keep parts of, and what is gathered. These are the same, or the latter has the
/// values of the former in a narrower type, element by element.
struct SplitBlock {
  /// One memory. \param tensors of any types
  explicit SplitBlock(const std::vector<at::Tensor>& tensors) : kept(tensors), gathered(tensors) {}
  /// \param kept of one type \param gathered of the same sizes and order, of another one
  SplitBlock(const std::vector<at::Tensor>& kept, const std::vector<at::Tensor>& gathered);

  /// Both are in the types of the tensors.
  bool is_rounded() const { return ratio > 1; }
  void take() const;

  std::size_t ratio = 1;  ///< bytes kept for each one that is gathered
  BorrowedMemory kept, gathered;
  at::ScalarType kept_type = at::kByte, gathered_type = at::kByte;  ///< where it is rounded
};

/// What a rank of those that share blocks holds of them.
struct ShardSizes {
  ShardSizes(const std::vector<SplitBlock>& blocks, int num_ranks, Gathered gathered);

  /// Of its parts and of the buffers.
  std::int64_t bytes() const;
  std::int64_t spared_bytes() const { return whole_bytes - bytes(); }
  /// Of gradients, if blocks are trained: they are laid out as what is kept, and buffers are as well.
  std::int64_t spared_gradient_bytes() const;

  std::vector<std::int64_t> parts;    ///< bytes, by block
  std::vector<std::int64_t> buffers;  ///< bytes, for what is gathered: two for any block, or one for each
  std::int64_t row = 0;               ///< bytes that are kept of the largest block by all ranks
  std::int64_t whole_bytes = 0;       ///< what it would hold otherwise
};

/// Rank r of R holds the r-th of R equal parts of each block's memory. A block is gathered into one of two buffers
/// before it computes, while the block before it does, and is without memory otherwise. Where blocks stay until
/// values change (Gathered), each has a buffer, and is gathered once after that. Where it is gathered in a
/// narrower type, each rank rounds its part into its place in the buffer; what is kept has no memory as a whole. All
/// ranks make the same passes, forward and backward, in the same order: gathering is collective. Where blocks are
/// trained, so is summing gradients.
class ShardedBlocks final : public BlockHooks, public SplitParameters {
 public:
  /// Whether a buffer is filled with NaN before it is filled again, so that no one reads what is left in it.
  enum class Leftovers { kept, poisoned };

  /// Collective. Nothing is in the blocks: call fill() for each of them. \param blocks whose memory is taken, of equal
  /// sizes on all ranks \param ranks used as long as this
  ShardedBlocks(std::vector<SplitBlock> blocks, const ShardRanks& ranks, Leftovers leftovers = Leftovers::kept);

  /// Lends memory to a block while `body` fills it, and keeps this rank's part of it. Before the first pass.
  void fill(std::int64_t block, const std::function<void()>& body);
  /// All blocks are: releases the memory that only filling takes.
  void end_filling() { wide_ = at::Tensor(); }
  /// The elements of a tensor, in the order of its memory, that are in this rank's part of a block; nothing for a
  /// tensor that is not in the memory of the block.
  std::optional<ElementRange> kept_of(std::int64_t block, const at::Tensor& tensor) const;
  /// Weights of a block that are in its memory are parameters, of one type in all blocks. They can be copied into and,
  /// after train(), which is collective, have gradients. \param block_weights of each block
  /// @{
  void set_parameters(const std::vector<std::vector<at::Tensor>>& block_weights);
  void train(CommDtype comm_dtype);
  bool is_trained() const { return gradients_.has_value(); }
  /// @}
  std::int64_t num_blocks() const { return static_cast<std::int64_t>(blocks_.size()); }

  void before_forward(std::int64_t block) override;
  void after_forward(std::int64_t block) override;
  void before_backward(std::int64_t block) override;
  void after_backward(std::int64_t block) override;
  void set_deepest(std::int64_t block) override { deepest_ = block; }
  /// The second one is collective: it gathers for as long as any rank makes passes.
  /// @{
  void begin_unequal_passes(BlockHooks* second) override;
  void end_unequal_passes() override;
  /// @}

  void idle_forward() override;
  at::Tensor idle_loss() override;
  /// Collective. The backward of idle_loss().
  void idle_backward();

  const ShardRanks& ranks() const override { return ranks_; }
  std::vector<ParameterRow> rows() const override;
  void zero_gradients() override { gradients_->zero(); }
  void finish_gradients() override { gradients_->finish(); }
  void values_changed() override;
  std::int64_t value_bytes() const override { return bytes(); }
  std::int64_t whole_bytes() const override { return sizes_.whole_bytes; }
  std::int64_t gradient_bytes() const override { return gradients_ ? gradients_->bytes() : 0; }

  /// Bytes that this rank holds of weights: its parts and the buffers.
  std::int64_t bytes() const { return sizes_.bytes(); }
  std::int64_t spared_bytes() const override { return sizes_.spared_bytes(); }
  std::int64_t num_gathers() const { return num_gathers_; }

 private:
  static constexpr std::int64_t kNone = -1;
  struct Block {
    SplitBlock memory;
    at::Tensor part;  ///< uint8, of what is kept, in memory that the other ranks reach
  };
  struct Slot {
    at::Tensor buffer;  ///< uint8, for each of its blocks
    std::int64_t block = kNone;
    std::unique_ptr<Work> gathering;  ///< null when it is done
  };

  /// What this rank sends of a block: its part, or its place in the buffer, into which the part is rounded.
  at::Tensor sent(const Block& block, const at::Tensor& buffer) const;
  Slot& slot_of(std::int64_t block) { return slots_[static_cast<std::size_t>(block) % slots_.size()]; }
  /// Starts to gather a block, unless it has none of that number or has been started. The block that was in its slot
  /// has no memory.
  void start(std::int64_t block);
  /// Collective. Before a pass of ranks that make different numbers of them. \return whether any rank makes one
  bool anyone_computes(bool this_rank);
  /// Waits for it and lets its tensors be there.
  void use(std::int64_t block);
  /// Collective. The rest of the blocks from `first` on, without computing.
  void pass_by(std::int64_t first);

  ShardRanks ranks_;
  TensorCollectives& collectives_;  ///< of the group
  Leftovers leftovers_;
  ShardSizes sizes_;
  std::vector<Block> blocks_;
  std::vector<Slot> slots_;  ///< two, or one for each block
  at::Tensor wide_;          ///< uint8, for what is kept of a block that is rounded; undefined once they are filled
  std::vector<BlockGradients::Leaves> leaves_;  ///< of each block, where they are parameters
  std::optional<BlockGradients> gradients_;     ///< of those that are trained
  std::int64_t num_gathers_ = 0;
  std::int64_t deepest_ = 0;  ///< the last block that backward reaches
  bool are_unequal_ = false;
  ShardedBlocks* second_ = nullptr;  ///< of a network that makes a pass after each unequal one, or null
  std::int64_t second_passes_ = 0;   ///< that it will have made when the newest of these is followed
  std::int64_t num_passed_ = 0;      ///< blocks of the forward pass under way; 0: none is
  std::int64_t num_passes_ = 0;      ///< forward passes that have reached the last block
};

}  // namespace multicard
