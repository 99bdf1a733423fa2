// multicard: parse the command line, start MPI, run one command, end every failure in one place.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include <c10/util/Exception.h>

#include "CommandLine.hpp"
#include "base/Log.hpp"
#include "base/System.hpp"
#include "comm/Mpi.hpp"
#include "device/DeviceError.hpp"

namespace multicard {
namespace {

/// Says what went wrong. An error that all ranks share, which any is of one rank alone, ends the job in order; any
/// other takes it down at once, since the other ranks may be waiting for this one.
int end_with(const Error& error, const Communicator& world) {
  if (error.scope() == Scope::all_ranks || world.size() == 1) {
    log_error(error.what());
    return static_cast<int>(error.code());
  }
  log_local_error(error.what());
  abort_job(error.code());
}

/// What the exception that is being handled means to the user.
Error current_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return EnvironmentError("out of memory", "an allocation on the host failed",
                            "Lower run.global_batch, data.prefetch, data.image_size or data.max_length.");
  } catch (const c10::Error& error) {
    if (const auto found = device_error(error, "")) return *found;
    const bool backtrace = std::getenv("MULTICARD_BACKTRACE") != nullptr;
    return Error(ExitCode::defect, "unexpected error", backtrace ? error.what() : error.what_without_backtrace(),
                 "This is a defect: report it.");
  } catch (const std::exception& error) {
    return Error(ExitCode::defect, "unexpected error", error.what(), "This is a defect: report it.");
  }
}

int guarded(const Command& command, const Communicator& world) {
  try {
    return static_cast<int>(command(world));
  } catch (const std::exception&) {
    return end_with(current_error(), world);
  }
}

/// An exception that nobody may catch, of a thread or a destructor: while the error of a lost GPU passes, LibTorch's
/// destructors throw it a second time.
[[noreturn]] void end_uncaught() {
  if (!std::current_exception()) std::abort();
  const Error error = current_error();
  log_local_error(error.what());
  abort_job(error.code());
}

}  // namespace
}  // namespace multicard

int main(int argc, char** argv) {
  using namespace multicard;
  keep_freed_memory();
  std::set_terminate(end_uncaught);
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
