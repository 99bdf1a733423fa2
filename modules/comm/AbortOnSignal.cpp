#include "comm/AbortOnSignal.hpp"

#include <csignal>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Log.hpp"
#include "comm/Mpi.hpp"

namespace multicard {

namespace {

[[noreturn]] void end_by(int signal) {
  log_local_error(fmt::format("ended by {}{}", signal_name(signal), signal == SIGINT ? " (Ctrl-C)" : ""));
  abort_job(static_cast<ExitCode>(128 + signal));
}

}  // namespace

AbortOnSignal::AbortOnSignal() : receiver_(end_by) {}

}  // namespace multicard
