#pragma once
/// \file `multicard recipes`: its command line and what it does.

#include <string>

#include <CLI/CLI.hpp>

#include "CommandLine.hpp"

namespace multicard {

struct RecipesArguments {
  std::string about;              ///< of ls: only those with this text; empty: all
  std::string name;               ///< of cp; empty: the recipes are listed
  std::string destination = ".";  ///< of cp: a file or a folder
};

/// Adds the command to `app`; parsed, it sets `command`.
void add_recipes(CLI::App& app, Command& command);

/// Collective. Lists the shipped decks, or copies one.
ExitCode recipes_command(const RecipesArguments& arguments, const Communicator& world);

}  // namespace multicard
