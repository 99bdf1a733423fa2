#include "base/Thread.hpp"

#include <latch>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <pthread.h>

#include "base/Error.hpp"

namespace multicard {

namespace {

/// Ends and joins whatever was started, also when the next one cannot be.
struct Waiting {
  ~Waiting() {
    end.count_down();
    for (std::thread& thread : threads)
      thread.join();
  }

  std::latch end{1};
  std::vector<std::thread> threads;
};

}  // namespace

void refuse_thread(const char* purpose, const std::system_error& error) {
  throw EnvironmentError(fmt::format("{} cannot be started", purpose), error.code().message(),
                         "Lower data.workers or OMP_NUM_THREADS, or raise the limit on processes (ulimit -u, the "
                         "container's pids limit).");
}

std::thread start_thread(const char* purpose, const char* name, std::function<void()> body) {
  try {
    return std::thread([name, body = std::move(body)] {
      pthread_setname_np(pthread_self(), name);
      body();
    });
  } catch (const std::system_error& error) {
    refuse_thread(purpose, error);
  }
}

void require_threads(int count, const char* purpose) {
  // All at once and waiting, since the limit is on threads that exist together.
  Waiting waiting;
  waiting.threads.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    waiting.threads.push_back(start_thread(purpose, "check", [&waiting] { waiting.end.wait(); }));
}

}  // namespace multicard
