#include "dist/CommThread.hpp"

#include <optional>

#include "base/Clock.hpp"
#include "base/Thread.hpp"

namespace multicard {

namespace {

/// Counts a job as over, however it ends, just before its future is ready.
struct Finished {
  std::atomic<int>& num_unfinished;
  ~Finished() { --num_unfinished; }
};

}  // namespace

CommThread::CommThread() : thread_(start_thread("the communication thread", "communication", [this] { run(); })) {}

CommThread::~CommThread() {
  jobs_.close();
  thread_.join();
}

std::future<double> CommThread::submit(std::function<void()> job) {
  ++num_unfinished_;
  std::packaged_task<double()> task([this, job = std::move(job)] {
    const Finished finished{num_unfinished_};
    // Without the time in the queue: a bucket that waits for the one before it does not communicate.
    const TimePoint start = SteadyClock::now();
    job();
    return seconds_since(start);
  });
  std::future<double> done = task.get_future();
  jobs_.push(std::move(task));
  return done;
}

void CommThread::run() {
  while (std::optional<std::packaged_task<double()>> task = jobs_.pop())
    (*task)();
}

}  // namespace multicard
