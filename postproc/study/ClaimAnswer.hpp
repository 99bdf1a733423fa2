#pragma once
/// \file What the study of a claim says, in sentences computed from its rows.

#include "findings/Finding.hpp"
#include "postproc/study/ClaimRows.hpp"

namespace multicard::post {

/// "claim": sharing against the tuned baseline, at each place, and what is claimed. Where no share was measured,
/// what is missing.
Finding claim_headline(const ClaimFile& file);

/// Each with an id of its own: "naive", "sequential", "simulation.WORK", "memory", "communication", "parity", "bytes".
/// Those of which nothing was measured are left out.
Findings claim_findings(const ClaimFile& file);

/// −32 % of -0.32.
std::string claimed_text(double change);

/// Of the rows of a place and task the last that counts as the same training: neither apart, nor lossy and
/// not accepted. By place and task.
std::vector<CommunicationCost> best_exchanges(const ClaimFile& file);

}  // namespace multicard::post
