#pragma once
/// \file What a piece of work allocates, measured small and extrapolated.

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace multicard {

/// The allocations of a piece of work in their order, and when each was given back.
class AllocationTrace {
 public:
  /// `bytes` were allocated at `address`.
  void allocate(const void* address, std::int64_t bytes);
  /// What lies at `address` was given back. Nothing happens when it was allocated before the trace began.
  void release(const void* address);

  std::size_t num_allocations() const { return bytes_.size(); }
  std::int64_t bytes(std::size_t allocation) const { return bytes_[allocation]; }
  /// Whether it was given back before anything else was allocated, as workspaces are.
  bool is_transient(std::size_t allocation) const;
  /// The most bytes held at a time, if the allocations had these sizes.
  std::int64_t peak_with(const std::vector<std::int64_t>& bytes) const;
  std::int64_t peak() const { return peak_with(bytes_); }

 private:
  struct Event {
    std::size_t allocation;
    bool is_release;
  };

  std::vector<std::int64_t> bytes_;
  std::vector<Event> events_;
  std::vector<std::size_t> place_;  ///< of each allocation among the events
  std::unordered_map<const void*, std::size_t> held_;
};

/// Work on `size` rows or tokens, as it was measured.
struct MeasuredWork {
  std::int64_t size = 0;
  AllocationTrace trace;
};

/// Peak of the same work on `size`, from two measured sizes.
///
/// Each allocation is a constant (a workspace, weights in another type) plus a multiple of the size, and the peak of
/// the whole is where their sum is largest: at another place for small work than for large work, so that the line
/// through two peaks would lie below it. Hence each allocation of the larger work is extrapolated by itself, from its
/// counterpart in the smaller. The two need not allocate equally often, as libraries choose algorithms by size:
/// counterparts are those of the longest common subsequence, where allocations are alike when the larger one is between
/// once and size ratio times the smaller one. One without a counterpart counts as proportional to the size, a transient
/// one as constant.
/// \pre small.size < large.size
std::int64_t extrapolated_peak(const MeasuredWork& small, const MeasuredWork& large, std::int64_t size);

/// Work that was measured twice, from which that of any size follows.
struct MeasuredPair {
  MeasuredWork small, large;

  std::int64_t peak(std::int64_t size) const { return extrapolated_peak(small, large, size); }
};

}  // namespace multicard
