#pragma once
/// \file What is known of the keys of formats that others have made. The program reads such a file under a closed
/// world: each key is in a table, or it is named to the user.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/JsonReader.hpp"

namespace multicard {

enum class KeyUse {
  used,        ///< it is read
  harmless,    ///< leaving it out changes no number
  named,       ///< others read it: it is left out, and the user is told where it is given
  unsupported  ///< others read it: without it the file would have another meaning
};

struct ForeignKey {
  const char* name;
  KeyUse use;
  const char* note;    ///< what it is, why it is harmless, or what would be lost
  double neutral = 0;  ///< a number that says nothing
};

struct ForeignFormat {
  std::string name;   ///< a word, for `multicard help formats NAME`
  std::string title;  ///< what a file or record of it is
  std::vector<std::span<const ForeignKey>> keys;
  const char* unsupported = "refused";  ///< what becomes of keys that are not supported
};

/// nullptr where none has that name.
const ForeignKey* find_key(std::span<const ForeignKey> keys, std::string_view name);

/// A sentence for each key of an object that is left out and should be said: of KeyUse::named and unknown ones, with
/// the nearest key that is known. Keys that say nothing (null; of known ones also false, the neutral number and what is
/// empty) are none. \throws DataError for a key of KeyUse::unsupported that says something
std::vector<std::string> left_out(const JsonReader& object, const ForeignFormat& format);

/// Warns of what left_out() found, of the first ones one by one. Rank 0 only, as log_warning().
void warn_of(const std::vector<std::string>& remarks);

/// The keys as a table in Markdown, those of one use after those of another, in the order of the table.
std::string markdown_table(const ForeignFormat& format);
/// The same for a terminal: a title, then a key in each line.
std::string text_table(const ForeignFormat& format);

}  // namespace multicard
