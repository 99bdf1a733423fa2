#pragma once
/// \file The command line of `multicard generate`.

#include <CLI/CLI.hpp>

#include "CommandLine.hpp"

namespace multicard {

/// Adds the command to `app`; parsed, it sets `command`.
void add_generate(CLI::App& app, Command& command);

}  // namespace multicard
