#pragma once
/// \file Requests to stop or to save, from signals and the wall limit.

#include <optional>

#include "comm/HeldSignals.hpp"

namespace multicard {

/// While one exists, SIGUSR1, SIGTERM, SIGINT and SIGHUP (unless ignored, as nohup does) ask for a stop and SIGUSR2 for
/// a checkpoint, also those that were held before; the handlers only set a flag. Flags are local: ranks must agree on
/// them before anybody acts. At most one monitor at a time.
class StopMonitor {
 public:
  StopMonitor();
  ~StopMonitor();
  StopMonitor(const StopMonitor&) = delete;
  StopMonitor& operator=(const StopMonitor&) = delete;

  /// `seconds` counts from the launch of this process.
  void set_wall_limit(std::optional<double> seconds) { wall_limit_s_ = seconds; }

  /// Whether this rank was asked to stop or has reached the wall limit.
  bool stop_requested() const;
  /// Whether this rank was asked for a checkpoint since the last call.
  bool take_checkpoint_request();
  /// "signal SIGUSR1", "run.wall_limit", or "the request of another rank".
  const char* reason() const;

 private:
  std::optional<double> wall_limit_s_;
  std::optional<DeliveredSignals> delivered_;
};

}  // namespace multicard
