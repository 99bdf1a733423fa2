#pragma once
/// \file Names that a regular expression matches.

#include <string>
#include <vector>

namespace multicard {

/// Those of `names` that an expression in PCRE2's syntax matches as a whole, in their order. \throws DataError for an
/// expression that is not one or takes too long
std::vector<std::string> whole_matches(const std::string& expression, const std::vector<std::string>& names);

}  // namespace multicard
