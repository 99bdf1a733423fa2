#pragma once
/// \file `multicard help keys`.

#include <string>
#include <vector>

namespace multicard {

/// Whether `words`, those after the program's name, ask for the keys of decks.
bool asks_for_keys(const std::vector<std::string>& words);

/// The answer: all keys, or those about the words that follow, or with --markdown the tables of docs/decks.md between
/// the marks that stand there. \throws UsageError for other options, and when no key is about the words.
std::string help_on_keys(const std::vector<std::string>& words);

}  // namespace multicard
