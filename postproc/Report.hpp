#pragma once
/// \file What multicard-post leaves behind.

#include <optional>
#include <string>

#include "postproc/Figures.hpp"
#include "postproc/Gnuplot.hpp"
#include "postproc/Study.hpp"

namespace multicard::post {

struct ReportOptions {
  std::optional<HeatAxes> heat;
  Formats formats = Formats::svg;
};

/// Writes report.html, a .svg (and .pdf) for each figure, runs.csv, cells.csv, options.csv and summary.json into
/// `folder`, each whole or not at all, and returns the path of report.html. Without gnuplot there are no figures, which
/// a warning and the report say. Throws DataError when the folder cannot be written, UsageError for axes of a heat map
/// that no study has.
std::string write_report(const Collection& collection, const std::string& folder, const Gnuplot& gnuplot,
                         const ReportOptions& options = {});

}  // namespace multicard::post
