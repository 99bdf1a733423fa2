#include "cuda_shim/Execution.hpp"

#include <algorithm>
#include <bit>
#include <exception>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cuda_shim/Fiber.hpp"

namespace multicard::cuda_shim {
namespace {

constexpr unsigned kWarp = 32;
constexpr unsigned kMostThreads = 1024, kMostLayers = 64, kMostRows = 65535, kMostColumns = 0x7FFFFFFF;

Position& current_position() {
  static Position position;
  return position;
}

Execution& current_execution() {
  static Execution execution;
  return execution;
}

void demand(bool met, const char* problem) {
  if (!met) throw std::logic_error(problem);
}

Shape position_in(const Shape& shape, std::uint64_t number) {
  const std::uint64_t row = number / shape.x;
  return {static_cast<unsigned>(number % shape.x), static_cast<unsigned>(row % shape.y),
          static_cast<unsigned>(row / shape.y)};
}

/// A set of thread numbers of which one is taken next.
class Runnable {
 public:
  Runnable(Order order, std::uint64_t seed) : order_(order), random_(seed) {}

  void clear(unsigned num_threads) {
    words_.assign((num_threads + kBits - 1) / kBits, 0);
    num_threads_ = num_threads;
  }
  void insert(unsigned thread) { words_[thread / kBits] |= bit(thread); }
  bool is_empty() const {
    return std::all_of(words_.begin(), words_.end(), [](std::uint64_t word) { return word == 0; });
  }
  /// There is one.
  unsigned take() {
    unsigned thread = 0;
    if (order_ == Order::ascending)
      thread = next_from(0);
    else if (order_ == Order::descending)
      thread = last();
    else
      thread = next_from(static_cast<unsigned>(random_() % num_threads_));
    words_[thread / kBits] &= ~bit(thread);
    return thread;
  }

 private:
  static constexpr unsigned kBits = 64;
  static std::uint64_t bit(unsigned thread) { return std::uint64_t{1} << thread % kBits; }

  unsigned last() const {
    std::size_t word = words_.size() - 1;
    while (words_[word] == 0)
      --word;
    return static_cast<unsigned>(word) * kBits + static_cast<unsigned>(std::bit_width(words_[word])) - 1;
  }
  /// The first at `start` or after it, where the first of all follows the last.
  unsigned next_from(unsigned start) const {
    std::uint64_t word = words_[start / kBits] & ~(bit(start) - 1);
    std::size_t i = start / kBits;
    while (word == 0) {
      i = (i + 1) % words_.size();
      word = words_[i];
    }
    return static_cast<unsigned>(i) * kBits + static_cast<unsigned>(std::countr_zero(word));
  }

  Order order_;
  std::mt19937_64 random_;
  std::vector<std::uint64_t> words_;
  unsigned num_threads_ = 0;
};

/// One exchange of the lanes of a warp.
struct Exchange {
  unsigned lanes = 0, given = 0, taken = 0;
  float values[kWarp] = {};
};

struct Thread {
  Fiber fiber;
  Exchange* exchange = nullptr;  ///< the one that it waits for
  unsigned num_exchanges = 0;
};

/// Threads keep their stacks from launch to launch.
using Threads = std::vector<std::unique_ptr<Thread>>;

Threads& all_threads() {
  static Threads threads;
  return threads;
}

class BlockRunner {
 public:
  BlockRunner(const Shape& grid, const Shape& block, const Execution& execution)
      : shape_(block),
        num_threads_(static_cast<unsigned>(block.count())),
        runnable_(execution.order, execution.seed),
        position_(current_position()),
        threads_(all_threads()),
        warps_((num_threads_ + kWarp - 1) / kWarp) {
    position_ = {{}, {}, block, grid};
    while (threads_.size() < num_threads_)
      threads_.push_back(std::make_unique<Thread>());
  }

  void run(const Shape& block, const std::function<void()>& body) {
    position_.block = block;
    std::fill(warps_.begin(), warps_.end(), std::array<Exchange, 2>{});
    num_waiting_ = num_done_ = 0;
    runnable_.clear(num_threads_);
    for (unsigned i = 0; i < num_threads_; ++i) {
      threads_[i]->exchange = nullptr;
      threads_[i]->num_exchanges = 0;
      threads_[i]->fiber.start([this, &body] { run_thread(body); });
      runnable_.insert(i);
    }
    while (!error_ && num_done_ < num_threads_) {
      demand(!runnable_.is_empty(), "threads of a block wait for others that have ended or wait for something else");
      running_ = runnable_.take();
      position_.thread = position_in(shape_, running_);
      threads_[running_]->fiber.resume();
    }
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

  void wait_for_block() {
    if (++num_waiting_ < num_threads_) {
      threads_[running_]->fiber.pause();
      return;
    }
    num_waiting_ = 0;
    const unsigned last = running_;
    for (unsigned i = 0; i < num_threads_; ++i)
      if (i != last) runnable_.insert(i);
    yield();
  }

  float exchange(unsigned lanes, float value, int mask) {
    Thread& thread = *threads_[running_];
    const unsigned lane = running_ % kWarp, source = lane ^ static_cast<unsigned>(mask), own = 1U << lane;
    // Two in turn: none of the lanes can be at the second but one while another one still reads.
    Exchange& exchange = warps_[running_ / kWarp][thread.num_exchanges++ % 2];
    if (exchange.given == 0) exchange.lanes = lanes;
    demand((lanes & own) != 0 && exchange.lanes == lanes, "the lanes of an exchange name different lanes");
    demand(source < kWarp && (lanes >> source & 1U) != 0, "a lane takes the value of one outside the exchange");
    exchange.values[lane] = value;
    exchange.given |= own;
    if (exchange.given == lanes) {
      wake_for(exchange);
      yield();
    } else {
      thread.exchange = &exchange;
      thread.fiber.pause();
    }
    const float result = exchange.values[source];
    exchange.taken |= own;
    if (exchange.taken == lanes) exchange = {};
    return result;
  }

 private:
  void run_thread(const std::function<void()>& body) {
    try {
      body();
    } catch (...) {
      error_ = std::current_exception();
    }
    ++num_done_;
  }

  /// Another thread that can run may come first.
  void yield() {
    runnable_.insert(running_);
    threads_[running_]->fiber.pause();
  }

  void wake_for(const Exchange& exchange) {
    const unsigned first = running_ / kWarp * kWarp;
    for (unsigned i = first; i < std::min(first + kWarp, num_threads_); ++i)
      if (threads_[i]->exchange == &exchange) {
        threads_[i]->exchange = nullptr;
        runnable_.insert(i);
      }
  }

  Shape shape_;
  unsigned num_threads_;
  Runnable runnable_;
  Position& position_;
  Threads& threads_;
  std::vector<std::array<Exchange, 2>> warps_;
  unsigned running_ = 0, num_waiting_ = 0, num_done_ = 0;
  std::exception_ptr error_;
};

BlockRunner*& current_block() {
  static BlockRunner* block = nullptr;
  return block;
}

std::vector<std::uint64_t> chosen_blocks(std::uint64_t count, const Execution& execution) {
  std::vector<std::uint64_t> blocks;
  for (std::uint64_t block = 0; block < count; ++block)
    if (!execution.runs || execution.runs(block)) blocks.push_back(block);
  if (execution.order == Order::descending) std::reverse(blocks.begin(), blocks.end());
  if (execution.order == Order::shuffled) std::shuffle(blocks.begin(), blocks.end(), std::mt19937_64(execution.seed));
  return blocks;
}

}  // namespace

ExecutionScope::ExecutionScope(Execution execution)
    : before_(std::exchange(current_execution(), std::move(execution))) {}

ExecutionScope::~ExecutionScope() {
  current_execution() = std::move(before_);
}

bool can_launch(const Shape& grid, const Shape& block) {
  const bool has_grid = grid.count() > 0 && grid.x <= kMostColumns && grid.y <= kMostRows && grid.z <= kMostRows;
  return has_grid && block.count() > 0 && block.count() <= kMostThreads && block.z <= kMostLayers;
}

void launch(const Shape& grid, const Shape& block, const std::function<void()>& thread) {
  demand(current_block() == nullptr, "a thread launches a kernel");
  BlockRunner runner(grid, block, current_execution());
  current_block() = &runner;
  try {
    for (const std::uint64_t number : chosen_blocks(grid.count(), current_execution()))
      runner.run(position_in(grid, number), thread);
  } catch (...) {
    current_block() = nullptr;
    all_threads().clear();  // some stopped in the middle
    throw;
  }
  current_block() = nullptr;
}

const Position& position() {
  return current_position();
}

void wait_for_block() {
  current_block()->wait_for_block();
}

float exchange(unsigned lanes, float value, int mask) {
  return current_block()->exchange(lanes, value, mask);
}

}  // namespace multicard::cuda_shim
