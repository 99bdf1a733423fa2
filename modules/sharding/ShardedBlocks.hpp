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
  bool is_end = false;    ///< embedding or output layer, which are as large as several layers
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

  std::vector<std::int64_t> parts;  ///< bytes, by block
  /// Bytes, for what is gathered: two for any layer and one for either end, or one for each block.
  std::vector<std::int64_t> buffers;
  std::int64_t row = 0;          ///< bytes that are kept of the largest layer by all ranks
  std::int64_t end_row = 0;      ///< likewise, of the larger end; 0: ends are not split
  std::int64_t whole_bytes = 0;  ///< what it would hold otherwise
};

/// Rank r of R holds the r-th of R equal parts of each block's memory. A block is gathered into one of two buffers
/// before it computes, while the block before it does, and is without memory otherwise. The ends of a network, where
/// they are split, are its first and its last block, and share a third buffer; where both are one, that is its first
/// block, which computes a second time after all others. Where blocks stay until values change (Gathered), each has a
/// buffer, and is gathered once after that. Where it is gathered in a narrower type, each rank rounds its part into its
/// place in the buffer; what is kept has no memory as a whole. All ranks make the same passes, forward and backward, in
/// the same order: gathering is collective. Where blocks are trained, so is summing gradients.
class ShardedBlocks final : public BlockHooks, public SplitParameters {
 public:
  /// Whether a buffer is filled with NaN before it is filled again, so that no one reads what is left in it.
  enum class Leftovers { kept, poisoned };

  /// Collective. Nothing is in the blocks: call fill() for each of them. \param blocks whose memory is taken, of equal
  /// sizes on all ranks, in the order of a pass \param ranks used as long as this
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

  /// \name BlockHooks, whose blocks are the turns of a pass: one for each block, and one more where the first one
  /// computes twice
  /// @{
  void before_forward(std::int64_t turn) override;
  void after_forward(std::int64_t turn) override;
  void before_backward(std::int64_t turn) override;
  void after_backward(std::int64_t turn) override;
  void set_deepest(std::int64_t turn) override { deepest_ = turn; }
  /// The second one is collective: it gathers for as long as any rank makes passes.
  /// @{
  void begin_unequal_passes(BlockHooks* second) override;
  void end_unequal_passes() override;
  /// @}

  void idle_forward() override;
  at::Tensor idle_loss() override;
  /// @}
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
  Slot& slot_of(std::int64_t block);
  std::int64_t num_turns() const { return num_blocks() + (has_tied_ends() ? 1 : 0); }
  std::int64_t block_at(std::int64_t turn) const { return turn < num_blocks() ? turn : 0; }
  bool has_ends() const { return sizes_.end_row > 0; }
  bool has_tied_ends() const { return has_ends() && !blocks_.back().memory.is_end; }
  bool is_embedding(std::int64_t turn) const { return turn == 0 && has_ends(); }
  bool is_head(std::int64_t turn) const { return turn == num_turns() - 1 && has_ends(); }
  /// Starts to gather the block of a turn, unless there is none or it has been started. The block that was in its slot
  /// has no memory.
  void start(std::int64_t turn);
  /// Waits for it and lets its tensors be there.
  void use(std::int64_t turn);
  /// Collective. The rest of the turns from `first` on, without computing.
  void pass_by(std::int64_t first);

  ShardRanks ranks_;
  TensorCollectives& collectives_;  ///< of the group
  Leftovers leftovers_;
  ShardSizes sizes_;
  std::vector<Block> blocks_;
  std::vector<Slot> slots_;  ///< as ShardSizes::buffers
  at::Tensor wide_;          ///< uint8, for what is kept of a block that is rounded; undefined once they are filled
  std::vector<BlockGradients::Leaves> leaves_;  ///< of each block, where they are parameters
  std::optional<BlockGradients> gradients_;     ///< of those that are trained
  std::int64_t num_gathers_ = 0;
  std::int64_t deepest_ = 0;  ///< the last turn that backward reaches
  bool are_unequal_ = false;
  ShardedBlocks* second_ = nullptr;  ///< of a network that makes a pass after each unequal one, or null
  std::int64_t second_passes_ = 0;   ///< that it will have made when the newest of these is followed
  std::int64_t num_passed_ = 0;      ///< turns of the forward pass under way; 0: none is
  std::int64_t num_passes_ = 0;      ///< forward passes that have reached the last turn
};

}  // namespace multicard
