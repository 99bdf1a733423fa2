#pragma once
/// \file The command line.

#include <functional>
#include <optional>

#include "base/Error.hpp"
#include "comm/Communicator.hpp"

namespace multicard {

/// What the command line asked for, ready to run on all ranks.
using Command = std::function<ExitCode(const Communicator& world)>;

/// Fills `command`, or returns the exit code when there is nothing to run (--help, --version, wrong usage). Under a
/// launcher only its first process prints.
std::optional<int> parse_command_line(int argc, const char* const* argv, Command& command);

}  // namespace multicard
