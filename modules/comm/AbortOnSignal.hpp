#pragma once
/// \file Ending in order when somebody ends a command that has no half-way state worth keeping.

#include <optional>
#include <thread>

#include "comm/HeldSignals.hpp"

namespace multicard {

/// While one exists, SIGTERM, SIGINT, SIGUSR1, SIGUSR2 and SIGHUP (unless ignored) end the job through abort_job with
/// 128 + the signal, so that files that are half-written are removed. At most one at a time, and not beside a
/// StopMonitor.
class AbortOnSignal {
 public:
  AbortOnSignal();
  ~AbortOnSignal();
  AbortOnSignal(const AbortOnSignal&) = delete;
  AbortOnSignal& operator=(const AbortOnSignal&) = delete;

 private:
  void wait();

  int read_end_ = -1;
  std::thread thread_;
  std::optional<DeliveredSignals> delivered_;
};

}  // namespace multicard
