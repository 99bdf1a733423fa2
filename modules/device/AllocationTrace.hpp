#pragma once
/// \file What a piece of work allocates, measured small and extrapolated.

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <vector>

namespace multicard {

/// What training work is at while it allocates.
enum class WorkStage {
  forward,
  logits,   ///< of the loss over a vocabulary: what grows with the targets, not with the tokens
  backward  ///< what is computed again in backward, too
};

/// Bytes that work holds at one moment, by the stage that has allocated them.
struct StageBytes {
  std::array<std::int64_t, 3> by_stage{};

  std::int64_t& operator[](WorkStage stage) { return by_stage[static_cast<std::size_t>(stage)]; }
  std::int64_t operator[](WorkStage stage) const { return by_stage[static_cast<std::size_t>(stage)]; }
  std::int64_t total() const { return std::accumulate(by_stage.begin(), by_stage.end(), std::int64_t{0}); }
  bool operator==(const StageBytes&) const = default;
};

/// How large work is.
struct WorkSize {
  std::int64_t size = 0;     ///< rows, pixels or tokens
  std::int64_t targets = 0;  ///< what WorkStage::logits grows with; 0: with the size
  /// Most targets whose logits exist at a time.
  std::int64_t chunk = std::numeric_limits<std::int64_t>::max();
};

/// The allocations of a piece of work in their order, and when each was given back.
class AllocationTrace {
 public:
  /// `bytes` were allocated at `address`.
  void allocate(const void* address, std::int64_t bytes, WorkStage stage = WorkStage::forward);
  /// What lies at `address` was given back. Nothing happens when it was allocated before the trace began.
  void release(const void* address);

  std::size_t num_allocations() const { return bytes_.size(); }
  std::int64_t bytes(std::size_t allocation) const { return bytes_[allocation]; }
  WorkStage stage(std::size_t allocation) const { return stages_[allocation]; }
  /// Whether it was given back before anything else was allocated, as workspaces are.
  bool is_transient(std::size_t allocation) const;
  /// The most bytes held at a time, if the allocations had these sizes.
  std::int64_t peak_with(const std::vector<std::int64_t>& bytes) const { return at_peak_with(bytes).total(); }
  std::int64_t peak() const { return peak_with(bytes_); }
  /// What is held at that moment.
  StageBytes at_peak_with(const std::vector<std::int64_t>& bytes) const;
  /// What is held, if the allocations had these sizes, when the first allocation of backward is made.
  StageBytes before_backward_with(const std::vector<std::int64_t>& bytes) const;

 private:
  struct Event {
    std::size_t allocation;
    bool is_release;
  };

  std::vector<std::int64_t> bytes_;
  std::vector<WorkStage> stages_;
  std::vector<Event> events_;
  std::vector<std::size_t> place_;  ///< of each allocation among the events
  std::unordered_map<const void*, std::size_t> held_;
};

/// Work on `size` rows or tokens, as it was measured.
struct MeasuredWork {
  std::int64_t size = 0;
  AllocationTrace trace;
};

/// Work that was measured on two sizes, from which that of any size follows.
///
/// Each allocation is a constant (a workspace, weights in another type) plus a multiple of the size, and the peak of
/// the whole is where their sum is largest: at another place for small work than for large work, so that the line
/// through two peaks would lie below it. Hence each allocation of the larger work is extrapolated by itself, from its
/// counterpart in the smaller. The two need not allocate equally often, as libraries choose algorithms by size:
/// counterparts are those of the longest common subsequence, where allocations are alike when the larger one is between
/// once and size ratio times the smaller one. One without a counterpart counts as proportional to the size, a transient
/// one as constant.
///
/// Logits were measured with as many targets as tokens, all at once. What they allocate grows with the targets, and
/// where a target has `chunk_bytes` or more of it (a row of the vocabulary) up to those of a chunk.
class MeasuredPair {
 public:
  /// \pre small.size < large.size
  MeasuredPair(const MeasuredWork& small, MeasuredWork large,
               std::int64_t chunk_bytes = std::numeric_limits<std::int64_t>::max());

  /// Peak of the work on `size`, and what it consists of.
  StageBytes at_peak(const WorkSize& size) const { return large_.trace.at_peak_with(extrapolated(size)); }
  StageBytes before_backward(const WorkSize& size) const {
    return large_.trace.before_backward_with(extrapolated(size));
  }
  std::int64_t peak(std::int64_t size) const { return at_peak({size}).total(); }

  /// The largest workspace: given back before anything else is allocated, and as large for any size. Works that follow
  /// each other on one stream need that of one alone.
  std::int64_t workspace() const;
  /// Peak but for workspaces.
  std::int64_t peak_without_workspace(std::int64_t size) const;

 private:
  bool is_workspace(std::size_t allocation) const;
  std::vector<std::int64_t> extrapolated(const WorkSize& size) const;
  std::int64_t size_of(std::size_t allocation, const WorkSize& size) const;

  MeasuredWork large_;
  std::vector<double> slopes_;  ///< bytes of each allocation of the larger work for each further row or token
  std::int64_t chunk_bytes_;
};

}  // namespace multicard
