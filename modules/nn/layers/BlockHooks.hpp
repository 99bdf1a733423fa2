#pragma once
/// \file What happens around the blocks of a network while it computes.

#include <cstdint>
#include <functional>

#include <ATen/core/Tensor.h>

namespace multicard {

/// Called on the thread that computes. In forward blocks are entered and left in order; in backward in reverse order,
/// where that of a block begins before any of its gradients is computed, and ends when those of its leaves are there.
/// A block whose input needs no gradient has no end in backward. Where the ends of a network are split, its first block
/// is an embedding, which backward does not read, and its last one the output layer.
class BlockHooks {
 public:
  virtual ~BlockHooks() = default;
  virtual void before_forward(std::int64_t block) = 0;
  virtual void after_forward(std::int64_t block) = 0;
  virtual void before_backward(std::int64_t block) = 0;
  virtual void after_backward(std::int64_t block) = 0;
  /// Backward goes no deeper than this block; from now on. The start is 0.
  virtual void set_deepest(std::int64_t block) = 0;
  /// Between these each rank makes as many passes as it likes, without gradients (with_unequal_passes()); the last one
  /// may have ended within the network. \param second null, or of a network that makes a pass after each of these
  /// @{
  virtual void begin_unequal_passes(BlockHooks* second) = 0;
  virtual void end_unequal_passes() = 0;
  /// @}
  /// Collective. What passes of other ranks need of one that has nothing to compute.
  /// @{
  virtual void idle_forward() = 0;
  /// The loss of such a pass: zero, float32. Its backward does its part.
  virtual at::Tensor idle_loss() = 0;
  /// @}
  /// Bytes of the network's weights that are not in this rank's memory.
  virtual std::int64_t spared_bytes() const = 0;
};

/// Calls of hooks for one pass of a network through its blocks. Without hooks nothing happens.
class BlockPass {
 public:
  /// \param hooks null, or used until backward is over
  explicit BlockPass(BlockHooks* hooks) : hooks_(hooks) {}
  /// Before and after a block. Autograd sees all that passes from block to block pass here: `x` and, if there is one
  /// and it is defined, `delta`.
  /// @{
  void enter(std::int64_t block, at::Tensor& x, at::Tensor* delta = nullptr) const;
  void leave(std::int64_t block, at::Tensor& x, at::Tensor* delta = nullptr) const;
  /// @}

 private:
  BlockHooks* hooks_;
};

/// Collective where there are hooks, which may want all ranks to make the same passes. Calls `body`, in which ranks
/// make passes without gradients, each as many as it likes. \param hooks may be null \param second null, or of another
/// network: each pass of the first is followed by one of the second
void with_unequal_passes(BlockHooks* hooks, const std::function<void()>& body, BlockHooks* second = nullptr);

}  // namespace multicard
