#pragma once
/// \file The tables of the report.

#include <string>

#include "postproc/page/Html.hpp"
#include "postproc/study/Study.hpp"

namespace multicard::post {

/// One line per configuration and number of ranks: rate, speedup, efficiency, waiting.
HtmlTable cells_table(const Study& study);

/// One line per cell: milliseconds of each phase.
HtmlTable phases_table(const Study& study);

/// Collectives of each cell's representative run, by kind; empty when none was recorded.
std::string communication_html(const Study& study);

/// Bytes per step and rank by direction; empty when none were recorded.
std::string transfers_html(const Study& study);

/// One line per option: its effect against the baseline value, where it is least and most; empty when nothing was
/// varied.
std::string options_html(const Study& study);

/// Peaks and the parts of the model's memory; says so when none was recorded.
std::string memory_html(const Study& study);

/// One line per run, failed and stopped ones included.
HtmlTable runs_table(const Study& study);

}  // namespace multicard::post
