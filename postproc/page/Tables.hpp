#pragma once
/// \file The study as CSV and a table for the terminal.

#include <cstddef>
#include <optional>
#include <string>

#include "postproc/study/Collection.hpp"
#include "postproc/study/Study.hpp"

namespace multicard::post {

/// \name Comma-separated values (RFC 4180); numbers that are not known are empty fields
/// @{
/// One line per run: its file, axes, ranks, status, and every number of docs/report.md.
std::string runs_csv(const Collection& collection);
/// One line per configuration and number of ranks, with intervals; failed ones too.
std::string cells_csv(const Collection& collection);
/// One line per option: its effect against the baseline value.
std::string options_csv(const Collection& collection);
/// @}

/// Aligned columns for each study: configuration, ranks, rate with its interval, speedup, efficiency, exposed
/// communication, repeats, and where a test set was scored the last accuracy or loss; below it the first sentence of
/// the answer. Of a shared job first whether it paid. Cells that did not complete say so with the first line of their
/// error. A line for each evaluation. \param columns  width of the terminal; unlimited where it is not given
std::string terminal_table(const Collection& collection, std::optional<std::size_t> columns = std::nullopt);

/// What the intervals of this study cover, in one line: over steps, over repeats, or none.
std::string interval_note(const Study& study);

}  // namespace multicard::post
