#pragma once
/// \file The page of the study of a claim.

#include <string>
#include <vector>

#include "postproc/draw/Gnuplot.hpp"
#include "postproc/figures/Figures.hpp"
#include "postproc/reduce/ReadClaim.hpp"

namespace multicard::post {

/// Writes report.html, summary.json, a CSV file for each table, claim.md (the tables for a document) and a .svg (and
/// .pdf) for each figure into `folder` and returns the path of report.html; without gnuplot there are no figures, which
/// a warning says. Throws as write_report().
std::string write_claim_report(const ClaimFile& file, const std::string& folder, const Gnuplot& gnuplot,
                               Formats formats);

/// All of it as JSON: sentences with their numbers, the rows of each table, figures.
std::string claim_summary_json(const ClaimFile& file, const std::vector<Figure>& figures);

}  // namespace multicard::post
