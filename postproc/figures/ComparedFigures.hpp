#pragma once
/// \file Figures of what changed between two results.

#include <vector>

#include "postproc/figures/Figures.hpp"
#include "postproc/study/Comparison.hpp"

namespace multicard::post {

/// Where several configurations were measured "compared-rates": the ratio of the rates of each. Then "compared-steps":
/// the mean step of A and of B by phases, of the configuration that changed most. Not yet drawn; the first one shows
/// the answer. None where no steps were measured.
std::vector<Figure> figures_of(const Comparison& comparison);

}  // namespace multicard::post
