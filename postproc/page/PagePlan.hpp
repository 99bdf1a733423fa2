#pragma once
/// \file The page of a plan or a replay.

#include <string>
#include <vector>

#include "postproc/draw/Gnuplot.hpp"
#include "postproc/figures/Figures.hpp"
#include "postproc/reduce/ReadPlan.hpp"

namespace multicard::post {

/// Writes report.html, summary.json and a .svg (and .pdf) for each figure into `folder` and returns the path of
/// report.html; without gnuplot there are no figures, which a warning says. Throws as write_report().
std::string write_plan_report(const PlanFile& file, const std::string& folder, const Gnuplot& gnuplot, Formats formats);

/// What the file says, as JSON: the headline with its numbers, then machines or policies.
std::string plan_summary_json(const PlanFile& file, const std::vector<Figure>& figures);

}  // namespace multicard::post
