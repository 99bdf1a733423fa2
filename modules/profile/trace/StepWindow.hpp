#pragma once
/// \file What of a window belongs to steps.

#include "profile/trace/Trace.hpp"

namespace multicard {

/// Drops operators, calls, blocks and allocations that began outside the phases of the trace (evaluations,
/// checkpoints), on any thread, and work on the GPU that such calls started. Work whose call is not in the trace stays
/// where it began in a phase.
void keep_steps(Trace& trace);

}  // namespace multicard
