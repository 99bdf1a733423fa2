#pragma once
/// \file The command line.

#include <functional>
#include <optional>

#include "base/Error.hpp"
#include "comm/Communicator.hpp"

namespace multicard {

/// What the command line asked for, ready to run on all ranks.
struct Command {
  std::function<ExitCode(const Communicator& world)> run;
  /// Instead of `run`, of a command of one process that MPI is not started for.
  std::function<ExitCode()> run_alone;
  /// Whether it has a StopMonitor and saves what it has when a signal comes; any other is ended by the signal.
  bool stops_in_order = false;
};

/// Fills `command`, or returns the exit code when there is nothing to run (--help, --version, wrong usage). Under a
/// launcher only its first process prints.
std::optional<int> parse_command_line(int argc, const char* const* argv, Command& command);

}  // namespace multicard
