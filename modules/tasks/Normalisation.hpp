#pragma once
/// \file Mean and deviation of pixels among the numbers of a checkpoint, so that it can be evaluated without the
/// training shards.

#include <map>
#include <optional>
#include <string>

#include "config/RunOptions.hpp"

namespace multicard {

/// "normalize.mean.0", ... and "normalize.std.0", ...
std::map<std::string, double> normalisation_to_numbers(const NormalizeOptions& values);
/// The reverse; none when `numbers` hold none.
std::optional<NormalizeOptions> normalisation_from_numbers(const std::map<std::string, double>& numbers);

}  // namespace multicard
