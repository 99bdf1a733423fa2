// FAKE_GPU_ABSENT=cudnn|nccl: loading that library, or LibTorch's GPU kernels, fails as where it is not installed.
// Loaded only where one is asked for.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>

#define FAKE_API extern "C" __attribute__((visibility("default")))

namespace {

thread_local char failure[160];

/// The library that is missing, if `path` cannot be loaded without it.
const char* missing_for(const char* path) {
  const char* const absent = std::getenv("FAKE_GPU_ABSENT");
  if (!path || !absent) return nullptr;
  const char* const library = std::strcmp(absent, "cudnn") == 0 ? "libcudnn.so.9" : "libnccl.so.2";
  return std::strstr(path, "libtorch_cuda.so") || std::strstr(path, library) ? library : nullptr;
}

}  // namespace

FAKE_API void* dlopen(const char* path, int flags) {
  static const auto real = reinterpret_cast<void* (*)(const char*, int)>(dlsym(RTLD_NEXT, "dlopen"));
  const char* const library = missing_for(path);
  if (!library) return real(path, flags);
  std::snprintf(failure, sizeof failure, "%s: cannot open shared object file: No such file or directory", library);
  return nullptr;
}

FAKE_API char* dlerror() {
  static const auto real = reinterpret_cast<char* (*)()>(dlsym(RTLD_NEXT, "dlerror"));
  static thread_local char said[sizeof failure];
  if (failure[0] == '\0') return real();
  std::strcpy(said, failure);
  failure[0] = '\0';
  return said;
}
