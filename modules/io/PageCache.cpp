#include "io/PageCache.hpp"

#include <algorithm>
#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"

namespace multicard {

void bring_to_disk(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  // fsync brings all that was written to the file to the disk, through whichever descriptor or process it was.
  const bool done = descriptor >= 0 && fsync(descriptor) == 0;
  const int number = errno;
  if (descriptor >= 0) close(descriptor);
  // Some file systems cannot sync a folder; the file is whole all the same.
  if (!done && number != EINVAL && number != ENOTSUP)
    throw DataError(fmt::format("{} cannot be synced to disk", path), system_error_text(number));
}

void drop_from_page_cache(const std::string& path) {
  bring_to_disk(path);  // only what is there already can be dropped
  const RegularFile file(path);
  posix_fadvise(file.descriptor(), 0, 0, POSIX_FADV_DONTNEED);
}

double cached_share(const std::string& path) {
  const RegularFile file(path);
  const auto bytes = static_cast<std::size_t>(file.size()), page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (bytes == 0) return 1;
  std::vector<unsigned char> resident((bytes + page - 1) / page);
  void* const mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (mapped == MAP_FAILED) return 1;
  const bool is_known = mincore(mapped, bytes, resident.data()) == 0;
  munmap(mapped, bytes);
  if (!is_known) return 1;
  const auto num_resident = std::ranges::count_if(resident, [](unsigned char bits) { return (bits & 1) != 0; });
  return static_cast<double>(num_resident) / static_cast<double>(resident.size());
}

}  // namespace multicard
