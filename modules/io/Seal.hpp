#pragma once
/// \file A checksum after the end of a file.

#include <string>

namespace multicard {

/// Appends the SHA-256 of the file's bytes and a mark by which it is known: 48 bytes. Programs that read HDF5 do not
/// see what follows the end of the data, and drop it when they write to the file. \throws DataError
void seal(const std::string& path);

/// Whether `path` is sealed. libhdf5 may end the process on a damaged file, so this comes before it opens one.
/// \throws DataError when its content is not what was sealed
bool check_seal(const std::string& path);

}  // namespace multicard
