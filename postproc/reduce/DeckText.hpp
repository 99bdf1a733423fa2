#pragma once
/// \file Values out of the resolved deck that a run keeps as text.

#include <string>

namespace multicard::post {

/// The scalar or flow list at `path`, e.g. "optimizer.learning_rate", as it is written there; empty where there is
/// none. Reads what the program writes of a deck: block maps, indented by blanks, a key a line.
std::string deck_value(const std::string& deck, const std::string& path);

}  // namespace multicard::post
