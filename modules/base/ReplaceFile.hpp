#pragma once
/// \file A file that is replaced as a whole.

#include <string>
#include <string_view>

namespace multicard {

/// Writes `temporary`, a path in the folder of `path`, and renames it to `path`: readers see the old content or the new
/// one, whole. Does not wait for the disk: after a crash of the machine either may be there, or none. `temporary` is
/// removed where this fails. \throws DataError
void replace_file(const std::string& path, const std::string& temporary, std::string_view bytes);

}  // namespace multicard
