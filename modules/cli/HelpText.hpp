#pragma once
/// \file The help of a command, for a terminal.

#include <string>

#include "cli/CommandTree.hpp"

namespace multicard {

constexpr std::size_t kHelpColumn = 28;  ///< where the texts of commands and options begin

/// Usage, what it does, its commands, words and options with one line each, examples. Lines are not wrapped:
/// wrapped_help(..., kHelpColumn) does.
std::string help_text(const CommandHelp& command);

/// "Usage text; default 8": what is said of an option in help and man pages.
std::string text_with_default(const OptionHelp& option);

/// With a full stop.
std::string sentence(const std::string& text);

}  // namespace multicard
