#pragma once
/// \file Suggestions for unknown keys.

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace multicard {

/// A key that decks can have.
struct KnownKey {
  std::string path;
  std::string note;  ///< after the name in a suggestion: "of task image"; may be empty
};

/// Section path -> keys that were read, in that order.
using KeysBySection = std::map<std::string, std::vector<std::string>>;

/// For `key` in `section`, in this order: the key of a peer's name for it; the most similar of `read` in the section;
/// the same key in another section; the same two of `table`, which has keys of other kinds of decks too. With its
/// section if that is another one.
std::optional<std::string> suggested_key(const KeysBySection& read, const std::vector<KnownKey>& table,
                                         const std::string& section, const std::string& key);

/// For a section that no deck has, with these keys in it: where the first of them that is known stands here.
std::optional<std::string> suggested_for_section(const KeysBySection& read, const std::vector<std::string>& keys);

}  // namespace multicard
