#pragma once
/// \file What libraries do when the program ends.

namespace multicard {

/// From now on the end of the program leaves out what libraries have registered for it: callbacks of MPI_Finalize
/// (attributes of MPI_COMM_SELF, which Open MPI calls in the order of their deletion) and of exit. For a library that
/// is broken: HDF5 1.10 cannot close a file whose last write has failed, keeps it open, and crashes when it tries again
/// at the end, which would hide the exit code. Any thread.
void skip_ends_of_libraries();

}  // namespace multicard
