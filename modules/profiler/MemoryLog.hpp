#pragma once
/// \file What a window says of memory.

#include <cstdint>
#include <memory>

#include <c10/core/Device.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include "profiler/RangeLog.hpp"

namespace multicard {

/// For its lifetime allocations by this thread, and by the threads of autograd that work for it, are reported to `log`,
/// which must outlive it. Kineto itself hears of allocations only where it records a single thread. To be destroyed on
/// the thread that made it.
class MemoryLog {
 public:
  /// What was allocated on the device, looked at whenever something was allocated or given back.
  struct Looks {
    std::int64_t num = 0;
    double bytes = 0;  ///< the sum over the looks of all that was allocated then
  };

  /// \param device  whose memory is looked at; of a CPU nothing is
  MemoryLog(RangeLog& log, c10::Device device);

  Looks looks() const;

 private:
  class Reports;
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
  std::shared_ptr<Reports> reports_;
  c10::DebugInfoGuard guard_;
};

}  // namespace multicard
