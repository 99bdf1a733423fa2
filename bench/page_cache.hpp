#pragma once
// Files in and out of the page cache of the system.
#include <algorithm>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace multicard::bench {

// The part of a file that is in the page cache; 1 where that cannot be found out.
inline double cached_share(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY);
  struct stat status {};
  if (file < 0 || fstat(file, &status) != 0 || status.st_size == 0) return 1;
  const auto bytes = static_cast<std::size_t>(status.st_size), page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> resident((bytes + page - 1) / page);
  void* const mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (mapped == MAP_FAILED || mincore(mapped, bytes, resident.data()) != 0) return 1;
  munmap(mapped, bytes);
  const auto num_resident =
      std::count_if(resident.begin(), resident.end(), [](unsigned char b) { return (b & 1) != 0; });
  return static_cast<double>(num_resident) / static_cast<double>(resident.size());
}

// Takes files out of the page cache, but for pages that are mapped.
inline void drop_from_page_cache(const std::vector<std::string>& files) {
  for (const std::string& path : files) {
    const int file = open(path.c_str(), O_RDONLY);
    fdatasync(file);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    close(file);
  }
}

}  // namespace multicard::bench
