#pragma once
/// \file Scripts that let shells complete a command line.

#include <optional>
#include <string>
#include <vector>

#include "cli/CommandTree.hpp"

namespace multicard {

enum class Shell { bash, zsh, fish };

/// The shell of that name; none: there is no completion for it.
std::optional<Shell> shell_named(const std::string& name);

/// A word KEY=VALUE that commands with a word of that name take.
struct KeyCompletion {
  std::string key;
  std::vector<std::string> words;  ///< its values; none: any
  std::string text;
};

/// The words for values in usage lines by which completion knows what to offer.
inline constexpr const char* kKeyValue = "KEY=VALUE";
inline constexpr const char* kDeckValue = "DECK";

/// Completes commands, options, words that options take, decks (files *.yaml), and keys with their values; files where
/// nothing else is known.
std::string completion_script(Shell shell, const CommandHelp& program, const std::vector<KeyCompletion>& keys);

}  // namespace multicard
