#pragma once
/// \file Patterns of tokenizer files, written for Oniguruma, as PCRE2 patterns that match the same.

#include <string>

#include "text/unicode/CodePointSet.hpp"

namespace multicard {

/// The pattern for PCRE2 with the options UTF and MULTILINE and newline LF, for texts without `ignored` characters.
/// Case-insensitive parts and classes are spelt out, because Oniguruma's classes and case folds are others, and because
/// they must not depend on the Unicode version of the PCRE2 that is installed. Throws a DataError that begins with
/// `refusal` where a construct cannot be translated.
std::string translated_regex(const std::string& pattern, const std::string& refusal, const CodePointSet& ignored);

}  // namespace multicard
