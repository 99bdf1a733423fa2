#pragma once
/// \file `multicard help WORDS`, but for the help of commands, which is their --help.

#include <optional>
#include <string>
#include <vector>

#include "cli/CommandTree.hpp"

namespace multicard {

/// What is printed; none where the words ask for something else. \param words the command line without the program's
/// name \throws UsageError for a word that names nothing
std::optional<std::string> help_on(const std::vector<std::string>& words, const CommandHelp& program);

}  // namespace multicard
