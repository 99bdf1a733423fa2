#pragma once
/// \file The figures of the study of a claim.

#include "postproc/figures/Figures.hpp"
#include "postproc/study/ClaimRows.hpp"

namespace multicard::post {

/// "claim", the key figure: one change for each of the three claims, place and task, with what is claimed. Then
/// "claim-iteration", "claim-simulation" and "claim-communication" with all cells.
std::vector<Figure> figures_of(const ClaimFile& file);

}  // namespace multicard::post
