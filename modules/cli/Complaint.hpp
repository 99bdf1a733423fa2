#pragma once
/// \file What a command line got wrong, as the errors of the program say it.

#include <string>

#include <CLI/CLI.hpp>

#include "base/Error.hpp"

namespace multicard {

/// What CLI11 has to say of the words that `app` was to parse, with an example of a right command and the nearest word.
/// Not for its "errors" that ask for help or the version.
UsageError usage_error(const CLI::App& app, const CLI::ParseError& error);

/// "multicard help run says more. Example: multicard run inputs/image/tiny.yaml"; `wanted` chooses the example that has
/// it, where there is one.
std::string help_and_example(const std::string& help, const std::vector<std::string>& examples,
                             const std::string& wanted = {});

}  // namespace multicard
