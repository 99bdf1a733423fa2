#pragma once
/// \file What multicard-post leaves behind.

#include <string>

#include "postproc/Gnuplot.hpp"
#include "postproc/Study.hpp"

namespace multicard::post {

/// Writes report.html, a .svg for each figure, runs.csv and summary.json into `folder`, each whole or not at all, and
/// returns the path of report.html. Without gnuplot there are no figures, which a warning and the report say. Throws
/// DataError when the folder cannot be written.
std::string write_report(const Study& study, const std::string& folder, const Gnuplot& gnuplot);

}  // namespace multicard::post
