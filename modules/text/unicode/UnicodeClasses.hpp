#pragma once
/// \file Character classes as Oniguruma has them in the tokenizers library, by name.

#include <optional>
#include <string_view>
#include <vector>

#include "text/unicode/CodePointSet.hpp"

namespace multicard {

/// Where a class is written: Oniguruma reads \w and [\w] differently for ² ³ ¹ ¼ ½ ¾.
enum class ClassPlace { alone, inside_set };

/// What \p{NAME} holds: categories, scripts, and Alphabetic, Word and the like. Nothing for an unknown name. Case,
/// spaces, '-' and '_' of the name do not matter.
std::optional<CodePointSet> property_set(std::string_view name, ClassPlace place);
/// What [[:NAME:]] holds.
std::optional<CodePointSet> posix_set(std::string_view name);
CodePointSet word_set(ClassPlace place);

bool equal_without_case(char32_t a, char32_t b);
/// The character and all that equal it when case does not matter.
CodePointSet case_closed(char32_t character);
/// The set and everything that equals one of its members when case does not matter.
CodePointSet case_closed(const CodePointSet& set);

}  // namespace multicard
