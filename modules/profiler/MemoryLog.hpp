#pragma once
/// \file What a window says of memory.

#include <memory>

#include <c10/util/ThreadLocalDebugInfo.h>

#include "profiler/RangeLog.hpp"

namespace multicard {

/// For its lifetime allocations by this thread, and by the threads of autograd that work for it, are reported to `log`,
/// which must outlive it. Kineto itself hears of allocations only where it records a single thread. To be destroyed on
/// the thread that made it.
class MemoryLog {
 public:
  explicit MemoryLog(RangeLog& log);

 private:
  /// Without LibTorch's warnings, several a window, that releases of older blocks are not reported: none is.
  class QuietAllocator {
   public:
    QuietAllocator();
    ~QuietAllocator();
    QuietAllocator(const QuietAllocator&) = delete;
    QuietAllocator& operator=(const QuietAllocator&) = delete;

   private:
    int level_;
  };
  QuietAllocator quiet_;
  std::shared_ptr<c10::DebugInfoBase> reports_;
  c10::DebugInfoGuard guard_;
};

}  // namespace multicard
