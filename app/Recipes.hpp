#pragma once
/// \file The shipped decks as a list to copy from.

#include <filesystem>
#include <string>
#include <vector>

#include "config/DeckKind.hpp"

namespace multicard {

struct Recipe {
  std::string name;  ///< "image/tiny": the deck's path in the folder of inputs
  DeckKind kind;
  std::string what;  ///< the first sentence of its first comment
};

/// The decks in `inputs`, by their names; those of tests are left out.
std::vector<Recipe> recipes_in(const std::filesystem::path& inputs);

/// "multicard run", ... which starts such decks
std::string command_for(DeckKind kind);

/// A file to write, and where it comes from.
struct RecipeFile {
  std::filesystem::path from, to;
  std::string text;
};

/// The deck `name` of `inputs` as the file `to`, and what it refers to next to it: the decks of a sweep or a share,
/// tables. Paths in the copies lead to the copies, and commands in their comments to what is installed.
/// \throws UsageError for a name that is none, or a file that would be replaced by something else
std::vector<RecipeFile> copies_of(const std::filesystem::path& inputs, const std::string& name,
                                  const std::filesystem::path& to);

}  // namespace multicard
