#pragma once
/// \file Blocks of a GPU kernel on the CPU: every thread of a block is a fiber, which runs until it has to wait for
/// others; which of those that can run does so next is chosen by an Order. A kernel whose threads race for memory gives
/// other results in another order.

#include <cstdint>
#include <functional>

namespace multicard::cuda_shim {

/// Of the blocks of a grid, and of the threads of a block whenever one has to wait.
enum class Order { ascending, descending, shuffled };

struct Execution {
  Order order = Order::ascending;
  std::uint64_t seed = 0;  ///< of Order::shuffled
  /// Which blocks of a grid run, by their number x + columns * (y + rows * z); all where it is empty.
  std::function<bool(std::uint64_t block)> runs;
};

/// As long as it lives, launches are executed so.
class ExecutionScope {
 public:
  explicit ExecutionScope(Execution execution);
  ~ExecutionScope();
  ExecutionScope(const ExecutionScope&) = delete;
  ExecutionScope& operator=(const ExecutionScope&) = delete;

 private:
  Execution before_;
};

struct Shape {
  unsigned x = 1, y = 1, z = 1;

  std::uint64_t count() const { return static_cast<std::uint64_t>(x) * y * z; }
};

/// Whether a GPU takes a grid of such blocks.
bool can_launch(const Shape& grid, const Shape& block);

/// Runs the blocks of a grid one after the other; `thread` is what each of their threads does. Throws what a thread
/// throws, and std::logic_error where threads wait for others that do not come.
void launch(const Shape& grid, const Shape& block, const std::function<void()>& thread);

struct Position {
  Shape thread, block, num_threads, num_blocks;
};
/// That of the thread that runs, always the same object.
const Position& position();

/// \name Called by a thread of a block
/// @{
/// Returns when all threads of the block have called it.
void wait_for_block();
/// The value that the thread with the number of this one xor `mask` gives; the threads of the warp in `lanes` call it
/// together.
float exchange(unsigned lanes, float value, int mask);
/// @}

}  // namespace multicard::cuda_shim
