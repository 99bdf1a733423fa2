#pragma once
/// \file The command line of `multicard prepare`.

#include "CommandLine.hpp"

namespace CLI {
class App;
}

namespace multicard {

/// Adds the command with its two kinds of shards; `command` is filled when the line names one.
void add_prepare(CLI::App& app, Command& command);

}  // namespace multicard
