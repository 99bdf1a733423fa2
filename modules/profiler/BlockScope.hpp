#pragma once
/// \file Where the blocks of a model tell profiles of themselves.

#include <cstdint>

#include "profiler/RangeLog.hpp"

namespace multicard {

/// For its lifetime this thread computes the forward pass of a block. Outside profile windows it costs one load.
///
///     for (std::size_t i = 0; i < blocks.size(); ++i) {
///       const BlockScope scope("blocks", i);
///       x = blocks[i].forward(x);
///     }
class BlockScope {
 public:
  static constexpr std::int64_t kNone = -1;

  /// \param name lives as long as the scope \param number of the block among those of its name: "blocks.3"
  explicit BlockScope(const char* name, std::int64_t number = kNone) : log_(RangeLog::current()) {
    if (log_) begin(name, number);
  }
  ~BlockScope() {
    if (log_) end();
  }
  BlockScope(const BlockScope&) = delete;
  BlockScope& operator=(const BlockScope&) = delete;

 private:
  void begin(const char* name, std::int64_t number);
  void end();

  RangeLog* log_;
  const char* name_ = nullptr;
  std::int64_t number_ = kNone, begin_ = 0, first_node_ = 0;
};

}  // namespace multicard
