#pragma once
/// \file Operators of a trace: their own time, and the work on the GPU that each started.

#include <vector>

#include "profile/Profile.hpp"
#include "profile/trace/GpuLine.hpp"
#include "profile/trace/Trace.hpp"

namespace multicard {

/// Rows by name, the longest self time first. An operator encloses others and calls of the same thread; work on the GPU
/// belongs to the innermost operator that was running as its call began.
std::vector<OperatorRow> operator_rows(const Trace& trace, const CallsByCorrelation& calls);

}  // namespace multicard
