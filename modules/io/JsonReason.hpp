#pragma once
/// \file What a JSON library says about damaged files, fit for messages.

#include <cstddef>
#include <string>
#include <string_view>

namespace multicard {

/// Text of unknown origin for a message: control characters and bytes that are not UTF-8 as \xNN, and not much of it.
std::string printable(std::string_view text, std::size_t longest = 300);

/// The words of an exception of the JSON library, without its own numbering: "at line 3, column 7: ...".
std::string json_reason(std::string_view what);

}  // namespace multicard
