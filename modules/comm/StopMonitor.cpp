#include "comm/StopMonitor.hpp"

#include <array>
#include <csignal>

#include "base/Clock.hpp"

namespace multicard {

namespace {

volatile std::sig_atomic_t g_stop_signal = 0;
volatile std::sig_atomic_t g_checkpoint_signal = 0;

constexpr std::array kStopSignals{SIGUSR1, SIGTERM, SIGINT, SIGHUP};
std::array<struct sigaction, kStopSignals.size()> g_previous_stop;
struct sigaction g_previous_checkpoint;

void on_stop(int signal) {
  g_stop_signal = signal;
}
void on_checkpoint(int) {
  g_checkpoint_signal = 1;
}

}  // namespace

StopMonitor::StopMonitor() {
  g_stop_signal = 0;
  g_checkpoint_signal = 0;
  struct sigaction action {};
  action.sa_flags = SA_RESTART;  // MPI's own system calls continue
  action.sa_handler = on_stop;
  for (std::size_t i = 0; i < kStopSignals.size(); ++i)
    g_previous_stop[i] = handle_signal(kStopSignals[i], action);
  action.sa_handler = on_checkpoint;
  sigaction(SIGUSR2, &action, &g_previous_checkpoint);
  delivered_.emplace();
}

StopMonitor::~StopMonitor() {
  delivered_.reset();
  for (std::size_t i = 0; i < kStopSignals.size(); ++i)
    sigaction(kStopSignals[i], &g_previous_stop[i], nullptr);
  sigaction(SIGUSR2, &g_previous_checkpoint, nullptr);
}

bool StopMonitor::stop_requested() const {
  return g_stop_signal != 0 || (wall_limit_s_ && seconds_since_launch() >= *wall_limit_s_);
}

bool StopMonitor::take_checkpoint_request() {
  const bool requested = g_checkpoint_signal != 0;
  if (requested) g_checkpoint_signal = 0;  // else one that arrives here would be lost
  return requested;
}

const char* StopMonitor::reason() const {
  switch (g_stop_signal) {
    case SIGUSR1:
      return "signal SIGUSR1";
    case SIGTERM:
      return "signal SIGTERM";
    case SIGINT:
      return "signal SIGINT";
    case SIGHUP:
      return "signal SIGHUP";
    default:
      break;
  }
  return stop_requested() ? "run.wall_limit" : "the request of another rank";
}

}  // namespace multicard
