#pragma once
/// \file Whether sharing the ranks of one job paid.

#include <string>
#include <vector>

#include "findings/Finding.hpp"
#include "postproc/reduce/Source.hpp"

namespace multicard::post {

/// "share": "2 tasks took 82.7 s; a gain over one after another is not proven (predicted from step times, without
/// start-up: 129 s, 18.0–5346)." A gain is claimed only where the lower limit of what one task after another would have
/// taken lies above what was measured. A loss never is: the prediction leaves out start-up, evaluations and
/// checkpoints, which were measured. Empty for a file that is not of a shared job. Its numbers: tasks, seconds,
/// predicted (with _low and _high) and, where it is claimed, ratio (predicted over measured).
Finding share_finding(const AllocationRecord& allocation);

/// The tasks in the order in which they began.
std::vector<std::string> tasks_of(const AllocationRecord& allocation);

/// Seconds until the last interval ended.
double end_of(const std::vector<AllocationInterval>& intervals);

}  // namespace multicard::post
