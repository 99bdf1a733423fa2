#pragma once
/// \file Operators of a trace: their own time, and the work on the GPU that each started.

#include <cstdint>
#include <vector>

#include "profile/Profile.hpp"
#include "profile/trace/GpuLine.hpp"
#include "profile/trace/Trace.hpp"

namespace multicard {

/// What an operator of a trace cost itself, and who called it.
struct PlacedOperator {
  OperatorCost cost;
  std::int64_t caller = -1;  ///< index of the operator that encloses it on its thread; -1: none
};

/// The operators of a trace, and the work on the GPU that none of them started.
struct PlacedOperators {
  std::vector<PlacedOperator> operators;  ///< of each of Trace::operators
  std::vector<std::int64_t> without;      ///< indices in Trace::gpu, of work whose call is in the trace
};

/// The cost of what costs nothing: 0 of what the trace records, and none of what it does not.
OperatorCost no_cost(const Trace& trace);

/// An operator encloses others, calls and allocations of the same thread; work on the GPU belongs to the innermost
/// operator that was running as its call began.
PlacedOperators placed_operators(const Trace& trace, const CallsByCorrelation& calls);

/// Rows by name, and by phase where the trace has phases.
std::vector<OperatorRow> operator_rows(const Trace& trace, const PlacedOperators& placed);

}  // namespace multicard
