#pragma once
/// \file Signals between the start of the process and the moment somebody can act on them.

#include <csignal>

namespace multicard {

/// Blocks SIGUSR1, SIGUSR2, SIGTERM, SIGINT and SIGHUP in this thread and those it starts from now on, so that one that
/// comes while MPI starts waits for the StopMonitor or AbortOnSignal of the command. Uses the kernel alone, so that it
/// may be called before static initialisers.
void hold_signals();

/// Handles `signal` by `action`, but leaves a SIGHUP alone that is ignored, as nohup wants it. \returns what was there
struct sigaction handle_signal(int signal, const struct sigaction& action);

/// Lets these signals through to this thread for its lifetime; make one once the handlers are installed.
class DeliveredSignals {
 public:
  DeliveredSignals();
  ~DeliveredSignals();
  DeliveredSignals(const DeliveredSignals&) = delete;
  DeliveredSignals& operator=(const DeliveredSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace multicard
