#pragma once
/// \file A time limit for calls in which no watchdog and no heartbeat looks for lost ranks.

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace multicard {

/// While it exists a thread counts the time. After `limit_s` seconds, without those in which the process was suspended,
/// it ends this process with `message` and exit code 5, upon which the launcher ends the others. For the start and the
/// end of MPI, which wait for all ranks.
class CallLimit {
 public:
  CallLimit(double limit_s, std::string message);
  ~CallLimit();
  CallLimit(const CallLimit&) = delete;
  CallLimit& operator=(const CallLimit&) = delete;

 private:
  void count(double limit_s);

  std::string message_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace multicard
