#include "base/Thread.hpp"

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "base/Error.hpp"

namespace multicard {

namespace {

/// Joins whatever was started, also when the next one cannot be.
struct Waiting {
  ~Waiting() {
    {
      const std::lock_guard lock(mutex);
      done = true;
    }
    wake.notify_all();
    for (std::thread& thread : threads)
      thread.join();
  }
  void wait() {
    std::unique_lock lock(mutex);
    wake.wait(lock, [this] { return done; });
  }

  std::mutex mutex;
  std::condition_variable wake;
  bool done = false;
  std::vector<std::thread> threads;
};

}  // namespace

void refuse_thread(const char* purpose, const std::system_error& error) {
  throw EnvironmentError(fmt::format("{} cannot be started", purpose), error.code().message(),
                         "Lower data.workers or OMP_NUM_THREADS, or raise the limit on processes (ulimit -u, the "
                         "container's pids limit).");
}

std::thread start_thread(const char* purpose, std::function<void()> body) {
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error& error) {
    refuse_thread(purpose, error);
  }
}

void require_threads(int count, const char* purpose) {
  Waiting waiting;
  waiting.threads.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    waiting.threads.push_back(start_thread(purpose, [&waiting] { waiting.wait(); }));
}

}  // namespace multicard
