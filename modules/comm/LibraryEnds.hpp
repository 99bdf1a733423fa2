#pragma once
/// \file What libraries do when the program ends.

namespace multicard {

/// From now on the end of the program leaves out what libraries have registered for it: callbacks of MPI_Finalize
/// (attributes of MPI_COMM_SELF, which Open MPI calls in the order of their deletion) and of exit. For a library that
/// is broken: HDF5 1.10 cannot close a file whose last write has failed, keeps it open, and crashes when it tries again
/// at the end, which would hide the exit code. Any thread.
void skip_ends_of_libraries();

/// For the end of main(): leaves out the handlers of exit and the destructors of static objects, among them LibTorch's,
/// which takes its 3,000 operators apart one by one, for a third of the time of a short command. A tool may have such a
/// handler, to write what it has recorded: nothing is left out where one may be there, i.e. in a program built with a
/// sanitizer, where a library was loaded ahead of the others (LD_PRELOAD, LD_AUDIT) or injected (CUDA_INJECTION64_PATH,
/// NVTX_INJECTION64_PATH), and where MPI's functions are wrapped by those of another library.
void skip_exit_handlers_unless_watched();

}  // namespace multicard
