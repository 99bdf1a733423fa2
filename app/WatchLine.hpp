#pragma once
/// \file The command line of `multicard watch`.

#include "CommandLine.hpp"

namespace CLI {
class App;
}

namespace multicard {

/// Adds the command, which fills `command` when it is chosen.
void add_watch(CLI::App& app, Command& command);

}  // namespace multicard
