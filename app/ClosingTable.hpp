#pragma once
/// \file The table that ends a run.

#include <string>

#include "comm/Communicator.hpp"
#include "run/TaskRun.hpp"

namespace multicard {

/// Collective. Writes what the run came to: rate and step times of the slowest ranks and where the time went (as
/// the report counts them, over the whole run), the largest peak of memory of any rank, the last loss, test scores and
/// the newest checkpoint of `output`.
void log_closing_table(const RunResult& result, const Communicator& world, const std::string& output);

/// For rank 0. Adds what slows the run down, a line each, as a report of `results`, its results file, says it.
void log_findings(const std::string& results);

}  // namespace multicard
