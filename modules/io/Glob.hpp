#pragma once
/// \file Shell patterns and the paths that they name.

#include <string>
#include <string_view>
#include <vector>

namespace multicard {

/// The paths that a shell pattern (`*`, `?`, `[...]`) matches, sorted byte by byte; names that start with a dot only
/// match a dot. A part of the path that is the name of a file or folder there stands for that alone: `run
/// [1]/train*.h5` finds the files in a folder "run [1]". A DataError naming the pattern if there are none.
std::vector<std::string> expand_glob(const std::string& pattern);

/// Whether `path` is the pattern itself, part by part, or would match it.
bool glob_covers(const std::string& pattern, const std::string& path);

/// Paths as one text, to send or keep them, and back. Names may hold any byte but 0, line ends too.
std::string packed_paths(const std::vector<std::string>& paths);
std::vector<std::string> unpacked_paths(std::string_view text);

}  // namespace multicard
