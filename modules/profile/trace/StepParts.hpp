#pragma once
/// \file Which part of a step, and of the model, the operators of a window belong to.

#include <string_view>
#include <vector>

#include "profile/Profile.hpp"
#include "profile/trace/GpuLine.hpp"
#include "profile/trace/OperatorTimes.hpp"
#include "profile/trace/Trace.hpp"

namespace multicard {

/// The phases of a trace by time.
class PhaseIndex {
 public:
  /// `trace` must outlive it.
  explicit PhaseIndex(const Trace& trace) : phases_(trace.phases) {}

  /// Null where `moment` lies in no phase.
  const PhaseSpan* at(std::int64_t moment) const;
  /// Of kPhaseNames; "" where `moment` lies in no phase.
  std::string_view name_at(std::int64_t moment) const;

 private:
  const std::vector<PhaseSpan>& phases_;
};

/// In the order of kPhaseNames, those that the window has. Work on the GPU that no operator started counts in the phase
/// in which its call began.
std::vector<PhaseRow> phase_rows(const Trace& trace, const PlacedOperators& placed, const CallsByCorrelation& calls);

/// One for each block and pass, in the order in which the blocks were first entered.
///
/// An operator belongs to the forward pass of the block in whose range it began on the same thread; the innermost one
/// counts. Within an autograd node, that is the forward pass run again by activation checkpointing. Any other operator
/// within an autograd node belongs to backward of the block whose forward pass made the node.
std::vector<BlockRow> block_rows(const Trace& trace, const PlacedOperators& placed);

}  // namespace multicard
