#pragma once
/// \file Tables that scripts/make_regex_tables.py and make_step_tables.py write: the Unicode that the tokenizers
/// library's regexes and its other steps know. They do not depend on the Unicode version of the libraries that are
/// installed.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "text/unicode/CodePointSet.hpp"

namespace multicard {

/// Code points of equal classes in a row, from 0 on: length << 8 | flags << 5 | category (UnicodeClasses.cpp names
/// them).
extern const std::span<const std::uint32_t> kUnicodeClasses;

/// Code points of one script in a row, from 0 on: length << 8 | index in kScriptNames.
extern const std::span<const std::uint32_t> kUnicodeScripts;
/// In small letters, without what parts their words.
extern const std::span<const std::string_view> kScriptNames;

/// The characters begin, begin + stride, ... end equal those that are `distance` further but for their case.
struct CaseShift {
  char32_t begin, end;
  std::uint32_t stride, distance;
};
extern const std::span<const CaseShift> kCaseShifts;

/// A character that equals a row of two or three others but for their case (ß and ss), padded with zeros.
struct LongFold {
  char32_t character;
  std::array<char32_t, 3> fold;
};
extern const std::span<const LongFold> kLongFolds;

/// Characters that normal forms may change, or whose place in a row of marks matters; with others between, that no form
/// changes.
extern const std::span<const CodePointSet::Range> kNormalizedCharacters;
/// What StripAccents takes away.
extern const std::span<const CodePointSet::Range> kMarks;
/// What the step Digits splits off.
extern const std::span<const CodePointSet::Range> kNumbers;
/// What the step Punctuation splits off.
extern const std::span<const CodePointSet::Range> kPunctuation;

/// The characters begin ... end have small letters `distance` further, which Unicode 14 does not know.
struct SmallLetter {
  char32_t begin, end;
  std::int32_t distance;
};
extern const std::span<const SmallLetter> kSmallLetters;

}  // namespace multicard
