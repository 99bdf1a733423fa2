#pragma once
/// \file Frozen blocks of a network, of which each rank holds a part.

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "dist/TensorCollectives.hpp"
#include "nn/language/BlockHooks.hpp"
#include "sharding/BorrowedMemory.hpp"

namespace multicard {

/// Rank r of R holds the r-th of R equal parts of each block's frozen memory. A block is gathered into one of two
/// buffers before it computes, while the block before it does, and is without memory otherwise. All ranks make the same
/// passes, forward and backward, in the same order: gathering is collective.
class ShardedBlocks final : public BlockHooks {
 public:
  /// Whether a buffer is filled with NaN before it is filled again, so that no one reads what is left in it.
  enum class Leftovers { kept, poisoned };

  /// Collective. Takes the memory of the tensors of each block, whose contents are equal on all ranks.
  /// \param collectives used as long as this
  ShardedBlocks(const std::vector<std::vector<at::Tensor>>& blocks, TensorCollectives& collectives,
                Leftovers leftovers = Leftovers::kept);

  void before_forward(std::int64_t block) override;
  void after_forward(std::int64_t block) override;
  void before_backward(std::int64_t block) override;
  void after_backward(std::int64_t block) override;
  /// The second one is collective: it gathers for as long as any rank makes passes.
  /// @{
  void begin_unequal_passes() override { are_unequal_ = true; }
  void end_unequal_passes() override;
  /// @}

  /// Collective. What passes of other ranks need of one that has nothing to compute.
  /// @{
  void idle_forward();
  void idle_backward();
  /// @}
  /// Collective. The loss of a pass that computes nothing: zero, float32, with idle_backward() for its backward.
  at::Tensor idle_loss();

  /// Bytes that this rank holds: its parts and the buffers.
  std::int64_t bytes() const;
  /// What it would hold without sharding.
  std::int64_t whole_bytes() const;
  std::int64_t num_gathers() const { return num_gathers_; }

 private:
  static constexpr std::size_t kNumSlots = 2;
  static constexpr std::int64_t kNone = -1;
  struct Block {
    BorrowedMemory memory;
    at::Tensor part;  ///< uint8, in memory that the other ranks reach
  };
  struct Slot {
    at::Tensor buffer;  ///< uint8, for the largest block
    std::int64_t block = kNone;
    std::unique_ptr<Work> gathering;  ///< null when it is done
  };

  std::int64_t num_blocks() const { return static_cast<std::int64_t>(blocks_.size()); }
  Slot& slot_of(std::int64_t block) { return slots_[static_cast<std::size_t>(block) % kNumSlots]; }
  /// Starts to gather a block, unless it has none of that number or has been started. The block that was in its slot
  /// has no memory.
  void start(std::int64_t block);
  /// Collective. Before a pass of ranks that make different numbers of them. \return whether any rank makes one
  bool anyone_computes(bool this_rank);
  /// Waits for it and lets its tensors be there.
  void use(std::int64_t block);

  TensorCollectives& collectives_;
  Leftovers leftovers_;
  std::vector<Block> blocks_;
  std::array<Slot, kNumSlots> slots_;
  std::int64_t num_gathers_ = 0;
  bool are_unequal_ = false;
};

}  // namespace multicard
