// MPI_Finalize deletes the attributes of MPI_COMM_SELF, the newest first, and stops where a callback fails. Handlers of
// exit run in the same order.
#include "comm/LibraryEnds.hpp"

#include <cstdio>
#include <cstdlib>

#include <mpi.h>

namespace multicard {

namespace {

int stop_deleting(MPI_Comm, int, void*, void*) {
  return MPI_ERR_OTHER;
}

void end_at_once(int status, void*) {
  std::fflush(nullptr);
  std::_Exit(status);
}

bool skip() {
  // Not std::atexit: its handlers are not given the status that the process is to end with.
  on_exit(end_at_once, nullptr);
  int is_initialized = 0, is_finalized = 0, key = MPI_KEYVAL_INVALID;
  MPI_Initialized(&is_initialized);
  MPI_Finalized(&is_finalized);
  if (!is_initialized || is_finalized) return true;
  return MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, stop_deleting, &key, nullptr) == MPI_SUCCESS &&
         MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr) == MPI_SUCCESS;
}

}  // namespace

void skip_ends_of_libraries() {
  [[maybe_unused]] static const bool is_done = skip();
}

}  // namespace multicard
