#pragma once
/// \file The study as CSV, JSON and a table for the terminal.

#include <string>

#include "postproc/Study.hpp"

namespace multicard::post {

/// One line a run (RFC 4180): where it is from, axes, ranks, status, and every number of docs/report.md. Numbers that
/// are not known are empty fields.
std::string runs_csv(const Study& study);

/// Sources, axes, configurations with their cells, and runs. Numbers that are not known are null.
std::string summary_json(const Study& study);

/// Aligned columns: configuration, ranks, rate with its interval, speedup, efficiency, exposed communication, repeats.
/// Cells that did not complete say so with the first line of their error.
std::string terminal_table(const Study& study);

/// What the intervals of this study are, in one line: over steps, over repeats, or none.
std::string interval_note(const Study& study);

}  // namespace multicard::post
