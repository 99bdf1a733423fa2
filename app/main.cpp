// multicard: parse the command line, start MPI, run one command, end every failure in one place.

#include <cstdlib>
#include <exception>
#include <optional>

#include "CommandLine.hpp"
#include "base/ErrorReport.hpp"
#include "base/Log.hpp"
#include "base/System.hpp"
#include "comm/AbortOnSignal.hpp"
#include "comm/LibraryEnds.hpp"
#include "comm/Mpi.hpp"
#include "comm/Signals.hpp"
#include "device/DeviceError.hpp"
#include "device/HostTensors.hpp"
#include "profiler/KinetoSession.hpp"

namespace multicard {
namespace {

/// Says what went wrong. An error that all ranks share, which any is of one rank alone, ends the job in order; any
/// other takes it down at once, since the other ranks may be waiting for this one.
int end_with(const Error& error, const Communicator& world) {
  if (error.scope() == Scope::all_ranks || world.size() == 1) {
    log_error(error_report(error));
    return static_cast<int>(error.code());
  }
  log_local_error(error_report(error));
  abort_job(error.code());
}

int guarded(const Command& command, const Communicator& world) {
  try {
    return static_cast<int>(command.run(world));
  } catch (const std::exception& error) {
    return end_with(any_error(error), world);
  }
}

/// Without MPI; a signal that the command does not take itself ends it.
int run_alone(const Command& command) {
  try {
    start_signal_thread();
    const SignalReceiver end([](int signal) { std::_Exit(128 + signal); });
    return static_cast<int>(command.run_alone());
  } catch (const std::exception& error) {
    const Error found = any_error(error);
    log_error(error_report(found));
    return static_cast<int>(found.code());
  }
}

/// An exception that cannot be caught, of a thread or a destructor: while the error of a lost GPU passes, LibTorch's
/// destructors throw it a second time.
[[noreturn]] void end_uncaught() {
  // Called without an exception by a thread that was never joined, say: only a core file helps then.
  if (!std::current_exception()) std::abort();
  try {
    throw;
  } catch (const std::exception& error) {
    const Error found = any_error(error);
    log_local_error(error_report(found));
    abort_job(found.code());
  } catch (...) {
    std::abort();
  }
}

void hold_signals_first(int, char**, char**) {
  hold_signals();
}

/// The linker's list of what runs before the initialisers of the libraries. Theirs take a third of a second, in which a
/// request to stop would end the process as if it could not listen, and the threads that they start inherit the mask.
[[gnu::section(".preinit_array"), gnu::used]] void (*const g_before_libraries)(int, char**,
                                                                               char**) = hold_signals_first;

int run(int argc, char** argv) {
  // In this order, before anything is allocated in earnest and before any other thread runs.
  keep_freed_memory();
  count_host_tensors();
  silence_kineto();
  std::set_terminate(end_uncaught);
  Command command;
  // Help and wrong words end here, without MPI: they work on a login node, and say so once under mpirun.
  if (const std::optional<int> code = parse_command_line(argc, argv, command)) return *code;
  if (command.run_alone) return run_alone(command);
  try {
    start_signal_thread();
    std::optional<AbortOnSignal> guard;  // also while MPI starts
    if (!command.stops_in_order) guard.emplace();
    const Mpi mpi(argc, argv);
    const int code = guarded(command, mpi.world());
    guard.reset();  // what was asked for is done: a signal while MPI ends changes nothing
    return code;
  } catch (const std::exception& error) {  // MPI itself did not start
    const Error found = any_error(error);
    log_local_error(error_report(found));
    abort_job(found.code());
  }
}

}  // namespace
}  // namespace multicard

int main(int argc, char** argv) {
  const int code = multicard::run(argc, argv);
  multicard::skip_exit_handlers_unless_watched();
  return code;
}
