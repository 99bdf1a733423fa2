#pragma once
/// \file Words of a command line that no command knows, and what was probably meant.

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace multicard {

/// `help COMMAND...` as `COMMAND... --help`, and `help` as `--help`; other words as they are.
std::vector<std::string> without_help_word(const std::vector<std::string>& words);

/// "multicard help prepare text" of "multicard prepare text"
std::string help_of(const std::string& path);

/// \param words the command line without the program's name \throws UsageError that names the first word that is
/// neither a command nor an option where one is expected, or says that a command is missing
void check_words(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace multicard
