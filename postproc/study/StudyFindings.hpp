#pragma once
/// \file What the numbers say, in sentences. A sentence that the data do not support says so instead.

#include <map>
#include <string>
#include <vector>

#include "findings/Finding.hpp"
#include "postproc/study/Study.hpp"

namespace multicard::post {

/// \name Findings
/// No interval, no claim: where too little was measured for one, or the interval of a ratio holds 1, they say that.
/// @{
/// "repeats": what is unknown because configurations were run once; empty when all were repeated.
Finding repeats_finding(const Study& study);
/// ROLE ("runner-up" or "baseline"): how the rate of `best` compares with that of `other`.
Finding comparison_finding(const Study& study, const Cell& best, const Cell& other, const std::string& role);
/// "speedup": from the fewest ranks of the configuration to those of `cell`; empty on the fewest themselves, or when
/// nothing else completed.
Finding scaling_finding(const Study& study, const Cell& cell);
/// "bottleneck": what the step of `cell` spends its time on.
Finding limit_finding(const Study& study, const Cell& cell);
/// "ranks": whether ranks of `cell` are slower than others; empty of one rank.
Finding ranks_finding(const Study& study, const Cell& cell);
/// "same_loss": whether runs that should learn the same did.
Finding loss_finding(const Study& study, const std::vector<const Cell*>& cells);
/// "failures": what did not complete; empty when everything did.
Finding failures_finding(const Study& study);
/// "early_stops": which runs ended before their last step because evaluations no longer improved; empty when none did.
Finding early_stops_finding(const Study& study);
/// @}

/// "0.95–1.12 times the rate", of a ratio with an interval.
std::string times_text(const Estimate& ratio);

/// Rate of `cell` over that on the fewest ranks of its configuration; unknown where that did not complete.
Estimate growth_of(const Study& study, const Cell& cell);

/// Whether any run of `cell` has steps enough to say that a rank is slower than the others.
bool can_find_stragglers(const Study& study, const Cell& cell);

/// Ranks that were slower than the others in more than half of the repeats, with their numbers of repeats.
std::map<int, int> stragglers_of(const Cell& cell);

/// "stragglers: rank 0 (in 2 of 3 runs)", "no stragglers", or that there are too few steps to detect any.
std::string stragglers_text(const Study& study, const Cell& cell);

/// " (95 % interval 801–823 over 3 repeats)", or why there is none.
std::string interval_text(const Estimate& estimate, int digits = 4);

}  // namespace multicard::post
