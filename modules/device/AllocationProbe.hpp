#pragma once
/// \file How much memory a piece of work takes.

#include <cstdint>
#include <memory>

namespace multicard {

/// While one exists, counts what the tensors of this thread take, on any device.
class AllocationProbe {
 public:
  AllocationProbe();
  ~AllocationProbe();
  AllocationProbe(const AllocationProbe&) = delete;
  AllocationProbe& operator=(const AllocationProbe&) = delete;

  /// Bytes allocated since the beginning and not freed.
  std::int64_t live_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace multicard
