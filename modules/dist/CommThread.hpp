#pragma once
/// \file The thread that communicates while others compute; for modules/dist only.

#include <atomic>
#include <functional>
#include <future>
#include <thread>

#include "base/BoundedQueue.hpp"

namespace multicard {

/// Runs jobs one after the other, in the order given, on a thread of its own: this MPI makes progress only inside
/// calls, so that someone has to be inside one. Asleep when there is nothing to do.
class CommThread {
 public:
  CommThread();
  /// Runs what is left, then ends.
  ~CommThread();
  CommThread(const CommThread&) = delete;
  CommThread& operator=(const CommThread&) = delete;

  /// The future gives the seconds the job took, or its exception.
  std::future<double> submit(std::function<void()> job);
  /// All jobs submitted are over. True at once when their futures have been waited for.
  bool is_idle() const { return num_unfinished_ == 0; }

 private:
  void run();

  BoundedQueue<std::packaged_task<double()>> jobs_;  ///< without a bound
  std::atomic<int> num_unfinished_{0};
  std::thread thread_;
};

}  // namespace multicard
