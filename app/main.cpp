// multicard: parse the command line, start MPI, run one command, end every failure in one place.

#include <cstdio>
#include <cstdlib>
#include <new>

#include <c10/util/Exception.h>

#include "CommandLine.hpp"
#include "base/Log.hpp"
#include "base/System.hpp"
#include "comm/Mpi.hpp"

namespace multicard {
namespace {

/// Says what went wrong. An error that all ranks share ends the job in order; any other takes it down at once, since
/// the other ranks may be waiting for this one.
int end_with(const Error& error) {
  if (error.scope() == Scope::all_ranks) {
    log_error(error.what());
    return static_cast<int>(error.code());
  }
  log_local_error(error.what());
  abort_job(error.code());
}

int guarded(const Command& command, const Communicator& world) {
  try {
    return static_cast<int>(command(world));
  } catch (const Error& error) {
    return end_with(error);
  } catch (const c10::OutOfMemoryError& error) {
    return end_with(EnvironmentError("the device is out of memory", error.what_without_backtrace(),
                                     "Lower run.micro_batch, run.global_batch, data.image_size or data.max_length."));
  } catch (const std::bad_alloc&) {
    return end_with(EnvironmentError("out of memory", "an allocation on the host failed",
                                     "Lower run.global_batch, data.prefetch, data.image_size or data.max_length."));
  } catch (const c10::Error& error) {
    const bool backtrace = std::getenv("MULTICARD_BACKTRACE") != nullptr;
    return end_with(Error(ExitCode::defect, "unexpected error",
                          backtrace ? error.what() : error.what_without_backtrace(), "This is a defect: report it."));
  } catch (const std::exception& error) {
    return end_with(Error(ExitCode::defect, "unexpected error", error.what(), "This is a defect: report it."));
  }
}

}  // namespace
}  // namespace multicard

int main(int argc, char** argv) {
  using namespace multicard;
  keep_freed_memory();
  Command command;
  if (const std::optional<int> code = parse_command_line(argc, argv, command)) return *code;
  try {
    const Mpi mpi(argc, argv);
    return guarded(command, mpi.world());
  } catch (const Error& error) {  // MPI itself did not start
    log_local_error(error.what());
    abort_job(error.code());
  }
}
