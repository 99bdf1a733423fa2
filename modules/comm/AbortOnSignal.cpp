#include "comm/AbortOnSignal.hpp"

#include <array>
#include <csignal>

#include <fmt/format.h>
#include <unistd.h>

#include "base/Error.hpp"
#include "base/Log.hpp"
#include "base/Thread.hpp"
#include "comm/Mpi.hpp"

namespace multicard {

namespace {

constexpr std::array kSignals{SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGHUP};
constexpr unsigned char kNoSignal = 0;

int g_write_end = -1;

/// A handler may do next to nothing: it wakes the thread that does the rest.
void on_signal(int signal) {
  const auto byte = static_cast<unsigned char>(signal);
  [[maybe_unused]] const ssize_t written = write(g_write_end, &byte, 1);
}

}  // namespace

AbortOnSignal::AbortOnSignal() {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw EnvironmentError("a pipe cannot be created", "too many files are open");
  read_end_ = ends[0];
  g_write_end = ends[1];
  thread_ = start_thread("the thread that waits for signals", [this] { wait(); });
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (const int signal : kSignals)
    handle_signal(signal, action);
  delivered_.emplace();
}

AbortOnSignal::~AbortOnSignal() {
  delivered_.reset();
  for (const int signal : kSignals) {
    struct sigaction now {};
    sigaction(signal, nullptr, &now);
    if (now.sa_handler == on_signal) std::signal(signal, SIG_DFL);
  }
  on_signal(kNoSignal);
  thread_.join();
  close(read_end_);
  close(g_write_end);
}

void AbortOnSignal::wait() {
  unsigned char byte = kNoSignal;
  if (read(read_end_, &byte, 1) != 1 || byte == kNoSignal) return;
  log_local_error(fmt::format("ended by signal {}", static_cast<int>(byte)));
  abort_job(static_cast<ExitCode>(128 + byte));
}

}  // namespace multicard
