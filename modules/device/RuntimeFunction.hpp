#pragma once
/// \file Functions of the CUDA runtime that the program defines as well; for modules/device only.
///
/// The dynamic linker takes the definitions of a program before those of any library, so that calls from LibTorch come
/// to the program's too, which then calls the runtime's own. Libraries that bring a runtime of their own, as cuBLAS,
/// cuDNN and NCCL do, go past them.

#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>

namespace multicard {

/// The runtime's function of this name: the next one after the program's.
template <typename Function>
Function* of_the_runtime(const char* name) {
  void* const found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) {  // no exception may pass through the libraries that call it
    std::fprintf(stderr, "multicard: the CUDA runtime has no function %s\n", name);
    std::abort();
  }
  return reinterpret_cast<Function*>(found);
}

}  // namespace multicard

/// Begins the definition of one of them.
#define MULTICARD_REPLACES extern "C" __attribute__((visibility("default"))) cudaError_t
