// To be loaded before the C library: a disk on which every fsync takes SLOW_DISK_S seconds, every reservation of space
// for tensors SLOW_ALLOCATION_S and every read at an offset SLOW_READ_S, and on which the write at an offset with the
// number BAD_DISK_FROM (1: the first) and all after it fail.

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

void wait_as_long_as(const char* variable) {
  if (const char* seconds = std::getenv(variable))
    std::this_thread::sleep_for(std::chrono::duration<double>(std::atof(seconds)));
}

}  // namespace

extern "C" int fsync(int descriptor) {
  wait_as_long_as("SLOW_DISK_S");
  return static_cast<int>(syscall(SYS_fsync, descriptor));
}

extern "C" int fallocate64(int descriptor, int mode, off_t begin, off_t count) {
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  if (std::filesystem::read_symlink(link).extension() == ".safetensors") wait_as_long_as("SLOW_ALLOCATION_S");
  return static_cast<int>(syscall(SYS_fallocate, descriptor, mode, begin, count));
}

extern "C" int fallocate(int descriptor, int mode, off_t begin, off_t count) {
  return fallocate64(descriptor, mode, begin, count);
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

extern "C" ssize_t pread64(int descriptor, void* bytes, size_t count, off_t offset) {
  wait_as_long_as("SLOW_READ_S");
  return syscall(SYS_pread64, descriptor, bytes, count, offset);
}

extern "C" ssize_t pread(int descriptor, void* bytes, size_t count, off_t offset) {
  return pread64(descriptor, bytes, count, offset);
}
