// MPI_Finalize deletes the attributes of MPI_COMM_SELF, the newest first, and stops where a callback fails. Handlers of
// exit run in the same order.
#include "comm/LibraryEnds.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>

#include <dlfcn.h>
#include <mpi.h>

namespace multicard {

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

int stop_deleting(MPI_Comm, int, void*, void*) {
  return MPI_ERR_OTHER;
}

void end_at_once(int status, void*) {
  std::fflush(nullptr);
  std::_Exit(status);
}

// Handlers run in the reverse order of their registration: this one runs before those of libraries.
void skip_exit_handlers() {
  // Not std::atexit: its handlers are not given the status that the process is to end with.
  on_exit(end_at_once, nullptr);
}

bool skip() {
  skip_exit_handlers();
  int is_initialized = 0, is_finalized = 0, key = MPI_KEYVAL_INVALID;
  MPI_Initialized(&is_initialized);
  MPI_Finalized(&is_finalized);
  if (!is_initialized || is_finalized) return true;
  return MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, stop_deleting, &key, nullptr) == MPI_SUCCESS &&
         MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr) == MPI_SUCCESS;
}

/// Where a function comes from: the address at which its library was loaded.
const void* library_of(const char* function) {
  Dl_info found = {};
  const void* const address = dlsym(RTLD_DEFAULT, function);
  return address && dladdr(address, &found) ? found.dli_fbase : nullptr;
}

/// Whether a variable had a value when the process was started: tools that are preloaded may remove it from the
/// environment.
bool was_set(std::string_view name) {
  std::ifstream environment("/proc/self/environ");
  for (std::string entry; std::getline(environment, entry, '\0');)
    if (entry.starts_with(name) && entry.size() > name.size() + 1 && entry[name.size()] == '=') return true;
  return false;
}

bool may_be_watched() {
  if (kIsSanitized) return true;
  for (const char* const name : {"LD_PRELOAD", "LD_AUDIT", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"})
    if (was_set(name)) return true;
  return library_of("MPI_Init_thread") != library_of("PMPI_Init_thread");
}

}  // namespace

void skip_ends_of_libraries() {
  [[maybe_unused]] static const bool is_done = skip();
}

void skip_exit_handlers_unless_watched() {
  if (!may_be_watched()) skip_exit_handlers();
}

}  // namespace multicard
