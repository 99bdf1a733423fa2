#pragma once
/// \file Writes the report and its files.

#include <optional>
#include <string>

#include "postproc/draw/Gnuplot.hpp"
#include "postproc/figures/Figures.hpp"
#include "postproc/study/Collection.hpp"

namespace multicard::post {

struct ReportOptions {
  std::optional<HeatAxes> heat;
  Formats formats = Formats::svg;
};

/// The default folder of the report of `file`: that of the file, if it is called results.h5; of any other file a
/// subfolder with its name, eval_report for eval.h5, so that the report of the run is kept.
std::string default_folder(const std::string& file);

/// Writes report.html, a .svg (and .pdf) for each figure, runs.csv, cells.csv, options.csv and summary.json into
/// `folder`, each whole or not at all, and returns the path of report.html. Without gnuplot there are no figures, which
/// a warning and the report say. Throws DataError when the folder cannot be written, UsageError for axes of a heat map
/// that no study has. Where nothing was timed there are no tables (.csv).
std::string write_report(const Collection& collection, const std::string& folder, const Gnuplot& gnuplot,
                         const ReportOptions& options = {});

}  // namespace multicard::post
