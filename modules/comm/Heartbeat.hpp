#pragma once
/// \file Finds a rank whose process has stopped, also where no collective waits for it.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "comm/Communicator.hpp"

namespace multicard {

/// A thread on each rank that exchanges a short message with rank 0 every second (BeatNumbers are in it). Where nothing
/// has come from a rank for longer than the time limit of the group's watchdog (at least 4 s), `on_expiry` is called
/// with a message that names it. Most waits for other ranks are collectives, which the Watchdog bounds; this bounds
/// those that may last (idle barriers, the rounds of a share). A rank that computes, or waits for a disk, still sends.
class Heartbeat {
 public:
  using Expiry = std::function<void(const std::string& message)>;
  /// Collective. Nothing is started for one rank.
  Heartbeat(const Communicator& all, Expiry on_expiry);
  /// Not collective: the others are told that this rank has left.
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  class Peers;

  void exchange(Peers& peers);

  const Communicator& communicator_;
  Expiry on_expiry_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace multicard
