#include "comm/StopMonitor.hpp"

#include <csignal>

#include "base/Clock.hpp"

namespace multicard {

void StopMonitor::listen() {
  receiver_.emplace([this](int signal) {
    if (signal == SIGUSR2)
      checkpoint_requested_ = true;
    else
      stop_signal_ = signal;
  });
}

bool StopMonitor::stop_requested() const {
  return stop_signal_ != 0 || (wall_limit_s_ && seconds_since_launch() >= *wall_limit_s_);
}

std::string StopMonitor::reason() const {
  if (const int signal = stop_signal_) return "signal " + signal_name(signal);
  return stop_requested() ? "run.wall_limit" : "the request of another rank";
}

}  // namespace multicard
