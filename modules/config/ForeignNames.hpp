#pragma once
/// \file What other programs call the keys and values of decks.

#include <optional>
#include <string>

namespace multicard {

/// The deck path of what `key`, without its section, is called elsewhere: "method.rank" for "r".
std::optional<std::string> own_key(const std::string& key);

/// The deck's word for a value: "bf16" for "bfloat16".
std::optional<std::string> own_word(const std::string& word);

}  // namespace multicard
