#pragma once
/// \file Results files that nothing vouches for.

#include <string>

namespace multicard::post {

/// Reads all of `path` in a process of its own, unless it is sealed (io/Seal.hpp): libhdf5 may crash on a damaged file,
/// or never return. What else is wrong with the file is left to the real reading. \throws DataError
void read_on_trial(const std::string& path);

}  // namespace multicard::post
