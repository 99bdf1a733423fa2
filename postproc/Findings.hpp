#pragma once
/// \file What the numbers say, in sentences. A sentence that the data do not support says so instead.

#include <string>
#include <vector>

#include "postproc/Study.hpp"

namespace multicard::post {

/// The cell with the highest rate among the complete ones of `configurations`; null when none completed.
const Cell* fastest(const Study& study, const std::vector<std::size_t>& configurations);

/// The fastest other configuration on as many ranks as `best`; null when there is none.
const Cell* runner_up(const Study& study, const std::vector<std::size_t>& configurations, const Cell& best);

/// The configuration to improve on, on as many ranks as `best`: a case named plain or baseline, else the first with
/// strategy dp, else the first of the file; null when that is `best` itself or did not complete.
const Cell* plainest(const Study& study, const std::vector<std::size_t>& configurations, const Cell& best);

/// The complete cell of a configuration on most ranks; null when none completed.
const Cell* largest(const Study& study, std::size_t configuration);

/// \name Sentences
/// @{
/// The answer: which configuration is best and how sure that is, by how much, and what limits it. One list of sentences
/// for each kind of work.
std::vector<std::vector<std::string>> answers(const Study& study);
std::string comparison_sentence(const Study& study, const Cell& best, const Cell& other, const std::string& role);
std::string scaling_sentence(const Study& study, const Cell& cell);
std::string limit_sentence(const Study& study, const Cell& cell);
std::string ranks_sentence(const Study& study, const Cell& cell);
/// Whether runs that should learn the same did.
std::string loss_sentence(const Study& study, const std::vector<const Cell*>& cells);
/// What did not complete; empty when everything did.
std::string failures_sentence(const Study& study);
/// @}

/// "ddp-ds, 224 px on 4 ranks"
std::string name_of(const Study& study, const Cell& cell);

/// " (95 % interval 801–823 over 3 repeats)", or why there is none.
std::string interval_text(const Estimate& estimate, int digits = 4);

/// Rank-seconds of forward, backward and update for one row: constant when computing scales perfectly.
double compute_cost(const Cell& cell);

/// The run behind `cell` whose rate is in the middle.
const RunReport& representative(const Study& study, const Cell& cell);

/// The index of the configuration's colour: the same for the same options, whatever the work.
std::size_t style_of(const Study& study, std::size_t configuration);

}  // namespace multicard::post
