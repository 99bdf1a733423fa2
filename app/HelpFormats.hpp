#pragma once
/// \file `multicard help formats`.

#include <string>
#include <vector>

namespace multicard {

/// Whether `words`, those after the program's name, ask for the formats of others.
bool asks_for_formats(const std::vector<std::string>& words);

/// The answer: the keys of all formats, or of those whose names begin with the words that follow, or with --markdown
/// the tables of the documents between the marks that stand there. \throws UsageError for other options, and when no
/// format has such a name
std::string help_on_formats(const std::vector<std::string>& words);

}  // namespace multicard
