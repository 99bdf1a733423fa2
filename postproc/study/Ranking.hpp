#pragma once
/// \file The fastest, the runner-up and the baseline among cells; the run that represents a cell.

#include <string>
#include <vector>

#include "postproc/study/Study.hpp"

namespace multicard::post {

/// The cell with the highest rate among the complete ones of `configurations`; null when none completed.
const Cell* fastest(const Study& study, const std::vector<std::size_t>& configurations);

/// The fastest configuration with other options on as many ranks as `best` (settings that only change what is learnt do
/// not count); null when there is none.
const Cell* runner_up(const Study& study, const std::vector<std::size_t>& configurations, const Cell& best);

/// The value that others of its axis are measured against: the baseline by name (dp, fp32, not pinned, nchw, host, …),
/// else the first in the file.
std::string baseline_value(const Axis& axis);

/// The configuration to improve on, on as many ranks as `best`: the first with most options at their baseline value;
/// null when that is `best` itself or did not complete.
const Cell* baseline_cell(const Study& study, const std::vector<std::size_t>& configurations, const Cell& best);

/// The complete cell of a configuration on most ranks; null when none completed.
const Cell* largest(const Study& study, std::size_t configuration);

/// "ddp-ds, 224 px on 4 ranks"
std::string name_of(const Study& study, const Cell& cell);

/// "4", "1–2": the same for tables.
std::string ranks_range(const Cell& cell);

/// "4 ranks"; "1 to 2 ranks" of a task of a shared job that was moved.
std::string ranks_text(const Cell& cell);
std::string ranks_text(int fewest, int most);

/// Rank-seconds of forward, backward and update for one row: constant when computing scales perfectly.
double compute_cost(const Cell& cell);

/// The run of `cell` with the median rate.
const RunReport& representative(const Study& study, const Cell& cell);

/// Labels of the options, each once, in the order of the configurations.
std::vector<std::string> option_labels(const Study& study);

/// The index of the configuration's colour, which is that of its option label: whatever the work.
std::size_t style_of(const Study& study, std::size_t configuration);

}  // namespace multicard::post
