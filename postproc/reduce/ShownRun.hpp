#pragma once
/// \file Makes the texts of a results file safe to show in tables, figures and terminals.

#include "postproc/reduce/Source.hpp"
#include "results/ResultsReader.hpp"

namespace multicard::post {

/// The run with valid UTF-8 of bounded length without control characters in place of every text that others may have
/// chosen: names and values on one line, decks, answers and errors with their line feeds.
RunData shown_run(RunData run);
Source shown_source(const Source& source);

}  // namespace multicard::post
