#pragma once
/// \file Requests to stop or to save, from signals and the wall limit.

#include <atomic>
#include <optional>
#include <string>

#include "comm/Signals.hpp"

namespace multicard {

/// Requests are local: ranks must agree on them before anybody acts.
class StopMonitor {
 public:
  /// From now on SIGUSR1, SIGTERM, SIGINT and SIGHUP (unless ignored, as nohup does) ask for a stop and SIGUSR2 for a
  /// checkpoint, also those that came before. Not with another SignalReceiver.
  void listen();

  /// `seconds` counts from the launch of this process.
  void set_wall_limit(std::optional<double> seconds) { wall_limit_s_ = seconds; }

  /// Whether this rank was asked to stop or has reached the wall limit.
  bool stop_requested() const;
  /// Whether this rank was asked for a checkpoint since the last call.
  bool take_checkpoint_request() { return checkpoint_requested_.exchange(false); }
  /// "signal SIGUSR1", "run.wall_limit", or "the request of another rank".
  std::string reason() const;

 private:
  std::optional<double> wall_limit_s_;
  std::atomic<int> stop_signal_ = 0;
  std::atomic<bool> checkpoint_requested_ = false;
  std::optional<SignalReceiver> receiver_;  // the last member: it calls back until it is destroyed
};

}  // namespace multicard
