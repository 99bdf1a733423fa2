#pragma once
/// \file The figures of a plan or a replay.

#include <vector>

#include "postproc/figures/Figures.hpp"
#include "postproc/reduce/ReadPlan.hpp"

namespace multicard::post {

/// Not yet drawn; the one that shows the answer first.
std::vector<Figure> figures_of(const PlanFile& file);

}  // namespace multicard::post
