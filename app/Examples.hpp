#pragma once
/// \file Right commands, for help, man pages and what is said of wrong ones.

#include <string>

namespace multicard {

/// Of the command with this path ("prepare images") as a footer of its parser (cli/CommandTree.hpp): a line "$ COMMAND"
/// for each; empty: none is known.
std::string examples_of(const std::string& path);

}  // namespace multicard
