// To be loaded before the C library: every fsync takes SLOW_DISK_S seconds.

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
