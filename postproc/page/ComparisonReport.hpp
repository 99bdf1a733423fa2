#pragma once
/// \file What changed between two results, as text, JSON and a page.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "postproc/draw/Gnuplot.hpp"
#include "postproc/page/Columns.hpp"
#include "postproc/study/Comparison.hpp"

namespace multicard::post {

/// Two results and what changed from one to the other.
struct ComparedResults {
  const Collection &a, &b;
  Comparison comparison;
};

/// The configurations with measured steps in both, and what their rates count: empty where they differ.
std::vector<ComparedCell> measured_cells(const Comparison& comparison);
std::string unit_of(const Comparison& comparison);

/// \name Columns of the tables of a comparison
/// @{
/// With an empty unit each line names its own.
Columns<ComparedCell> compared_cell_columns(const std::string& unit = "rows");
Columns<ComparedPhase> compared_phase_columns();
Columns<ComparedNumber> compared_score_columns();
Columns<ComparedNumber> compared_memory_columns();
Columns<ComparedItem> compared_item_columns();
Columns<ComparedSetting> compared_setting_columns();
Columns<ComparedSetting> compared_environment_columns();
/// @}

/// The answer, what explains it, then tables: configurations, phases and the items that changed most, of the
/// configuration that changed most; settings and surroundings that differ. \param columns  width of the terminal;
/// unlimited where it is not given
std::string comparison_text(const ComparedResults& results, std::optional<std::size_t> columns = std::nullopt);

/// All of it, of every configuration.
std::string comparison_json(const ComparedResults& results);

/// Writes comparison.html with its figures, and comparison.json, into `folder` and returns the path of the page.
/// \throws DataError when the folder cannot be written, UsageError where other files have these names
std::string write_comparison(const ComparedResults& results, const std::string& folder, const Gnuplot& gnuplot);

}  // namespace multicard::post
