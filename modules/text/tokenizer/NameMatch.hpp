#pragma once
/// \file Names that a regular expression matches.

#include <string>
#include <vector>

namespace multicard {

/// Those of `names` that an expression in PCRE2's syntax matches as a whole, in their order. \throws DataError for an
/// expression that is not one or takes too long
/// \param shown how errors show the expression; empty: as it is
std::vector<std::string> whole_matches(const std::string& expression, const std::vector<std::string>& names,
                                       const std::string& shown = {});

}  // namespace multicard
