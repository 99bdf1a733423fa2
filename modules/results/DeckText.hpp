#pragma once
/// \file Looks up values in the resolved deck that a run keeps as text.

#include <map>
#include <string>

namespace multicard {

/// The scalar or flow list at `path`, e.g. "optimizer.learning_rate", as it is written there, but for double
/// quotes around it; empty where there is none. Reads decks as the program writes them: block maps, indented by blanks,
/// one key per line.
std::string deck_value(const std::string& deck, const std::string& path);

/// All of them by path; of lists in block style, whose items have no path, nothing.
std::map<std::string, std::string> deck_values(const std::string& deck);

}  // namespace multicard
