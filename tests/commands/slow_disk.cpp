// To be loaded before the C library: a disk on which every fsync takes SLOW_DISK_S seconds, and on which the write at
// an offset with the number BAD_DISK_FROM (1: the first) and all after it fail.

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <thread>

#include <sys/syscall.h>
#include <unistd.h>

extern "C" int fsync(int descriptor) {
  if (const char* seconds = std::getenv("SLOW_DISK_S"))
    std::this_thread::sleep_for(std::chrono::duration<double>(std::atof(seconds)));
  return static_cast<int>(syscall(SYS_fsync, descriptor));
}

extern "C" ssize_t pwrite64(int descriptor, const void* bytes, size_t count, off_t offset) {
  static std::atomic<int> number = 0;
  const char* const from = std::getenv("BAD_DISK_FROM");
  if (from != nullptr && ++number >= std::atoi(from)) {
    errno = EIO;
    return -1;
  }
  return syscall(SYS_pwrite64, descriptor, bytes, count, offset);
}

extern "C" ssize_t pwrite(int descriptor, const void* bytes, size_t count, off_t offset) {
  return pwrite64(descriptor, bytes, count, offset);
}
