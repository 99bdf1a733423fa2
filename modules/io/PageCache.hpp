#pragma once
/// \file Files between the disk and the system's page cache.

#include <string>

namespace multicard {

/// Brings all that was written to the file or folder to the disk, through whichever descriptor or process it was. Of a
/// folder where the file system can. \throws DataError
void bring_to_disk(const std::string& path);

/// Brings the file to the disk and takes it out of the page cache of this machine, but for pages that are mapped or
/// that have no other place (tmpfs). \throws DataError
void drop_from_page_cache(const std::string& path);

/// The part of a file, from 0 to 1, that is in the page cache of this machine; 1 where that cannot be found out.
double cached_share(const std::string& path);

}  // namespace multicard
