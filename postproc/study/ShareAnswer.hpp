#pragma once
/// \file Whether sharing the ranks of one job paid.

#include "postproc/reduce/Source.hpp"
#include "postproc/study/Statement.hpp"

namespace multicard::post {

/// "share": "2 tasks took 82.7 s; a gain over one task after another is not proven (128.6 s (18.0–5346) predicted)."
/// The gain or loss is claimed only where the limits of what one task after another would have taken lie beyond what
/// was measured. Empty for a file that is not of a shared job. Its numbers: tasks, seconds, predicted (with _low and
/// _high) and, where it is claimed, ratio (predicted over measured).
Statement share_statement(const AllocationRecord& allocation);

/// Seconds until the last interval ended.
double end_of(const std::vector<AllocationInterval>& intervals);

}  // namespace multicard::post
