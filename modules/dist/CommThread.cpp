#include "dist/CommThread.hpp"

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

CommThread::CommThread() : thread_(start_thread("the communication thread", [this] { run(); })) {}

CommThread::~CommThread() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

std::future<double> CommThread::submit(std::function<void()> job) {
  ++num_unfinished_;
  std::packaged_task<double()> task([this, job = std::move(job)] {
    const Finished finished{num_unfinished_};
    const TimePoint start = SteadyClock::now();
    job();
    return seconds_since(start);
  });
  std::future<double> done = task.get_future();
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(task));
  }
  wake_.notify_one();
  return done;
}

void CommThread::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    std::packaged_task<double()> task = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    task();
    task = {};
    lock.lock();
  }
}

}  // namespace multicard
