#pragma once
/// \file What the commands that compute share: provenance, rates, the first and the closing lines.

#include <string>
#include <vector>

#include "Commands.hpp"
#include "results/Provenance.hpp"
#include "run/TaskRun.hpp"

namespace multicard {

/// Collective. Provenance with the GPUs of all ranks.
Provenance full_provenance(const Communicator& world, const std::string& command_line);

/// Collective over the run's ranks. "208 img/s, 307 ms per step (data 0.1 %, reduce 1.2 %)" of measure_steps(), and
/// shorter forms of it, the shortest last.
std::vector<std::string> rate_texts(const RunResult& result, const Communicator& communicator);

/// The first line of every training command.
void log_heading(const std::string& command, const std::string& deck);

/// Says in the results that a run was a smoke run, whose numbers say nothing.
void mark_smoke(RunSummary& summary);

/// The last lines: where the results are, and how a report is made of them.
void log_results(const std::string& results);

/// With --quiet the only line: where the results are.
void print_if_quiet(const std::string& results, const DeckArguments& arguments, const Communicator& world);

/// The only line of a `what` (run, sweep) that is started again after it has finished.
void log_finished(const std::string& results, const std::string& what);

}  // namespace multicard
