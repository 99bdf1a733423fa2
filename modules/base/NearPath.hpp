#pragma once
/// \file Names of files that are probably meant.

#include <optional>
#include <string>

namespace multicard {

/// The existing file or folder that a path which does not exist probably means: the entry of its folder with the
/// nearest name, or with the same name and an extension; where the folder does not exist either, in the one that
/// folder probably means.
std::optional<std::string> near_path(const std::string& path);

/// "Did you mean PATH?" of near_path(), else `otherwise`.
std::string did_you_mean(const std::string& path, const std::string& otherwise);

}  // namespace multicard
