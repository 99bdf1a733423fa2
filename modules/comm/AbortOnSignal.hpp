#pragma once
/// \file Ending in order when a signal ends a command that has no half-way state worth keeping.

#include "comm/Signals.hpp"

namespace multicard {

/// While one exists, SIGTERM, SIGINT, SIGUSR1, SIGUSR2 and SIGHUP (unless ignored) end the job through abort_job with
/// 128 + the signal, whatever the other threads do, so that files that are half-written are removed. Not with another
/// SignalReceiver.
class AbortOnSignal {
 public:
  AbortOnSignal();

 private:
  SignalReceiver receiver_;
};

}  // namespace multicard
