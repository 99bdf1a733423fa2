#pragma once
/// \file Unicode's normal forms and the properties that tokenizers ask for, of the characters that the tokenizers
/// library knows in each case (UnicodeTables.hpp).

#include <cstddef>
#include <string>
#include <string_view>

namespace multicard {

bool is_ascii(std::string_view text);
/// Where the last character of a text in UTF-8 begins, which is not empty.
std::size_t begin_of_last_character(std::string_view text);

enum class NormalForm { nfc, nfd, nfkc, nfkd };

/// All of these take valid UTF-8 and time in proportion to its length.
std::string normalized(std::string_view text, NormalForm form);
std::string lower_case(std::string_view text);
/// Of one character, which may become several.
std::string upper_case(char32_t character);
std::string title_case(char32_t character);
/// Without the characters of the categories M.
std::string without_marks(std::string_view text);

/// Categories Nd, Nl, No.
bool is_numeric(char32_t character);
/// Categories P, and ASCII punctuation.
bool is_punctuation(char32_t character);
/// Categories Lu, Ll and Lt.
bool is_cased(char32_t character);
/// Categories L.
bool is_letter(char32_t character);
/// Neither a control character nor unassigned, of private use or white space other than " ".
bool is_printable(char32_t character);

}  // namespace multicard
