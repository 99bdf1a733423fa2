#pragma once
/// \file The table of deck keys for people.

#include <map>
#include <string>

namespace multicard {

/// Lines for a terminal: of each key its effect and task, type and default, and what it does. `about` chooses the keys
/// whose path, label or help contains it, in whichever case; empty: all. Empty when there is none.
std::string key_help(const std::string& about);

/// The Markdown tables of docs/decks.md by section; keys without a section are under "top".
std::map<std::string, std::string> key_tables();

}  // namespace multicard
