#pragma once
/// \file The one way to start a thread.

#include <functional>
#include <future>
#include <system_error>
#include <thread>
#include <utility>

namespace multicard {

/// Starts a thread, which has the `name` (at most 15 characters) in debuggers, `top -H` and profiles. \throws
/// EnvironmentError, naming `purpose` ("a loader's worker"), where the system allows no further one (ulimit -u, the
/// pids limit of a container). Started threads that the caller holds stay joinable: join them before the error leaves
/// their owner.
std::thread start_thread(const char* purpose, const char* name, std::function<void()> body);

/// \throws EnvironmentError for what start_thread and start_async could not start.
[[noreturn]] void refuse_thread(const char* purpose, const std::system_error& error);

/// std::async on a thread of its own, with errors as start_thread. The future waits for it when it is destroyed.
template <class Body>
auto start_async(const char* purpose, Body&& body) {
  try {
    return std::async(std::launch::async, std::forward<Body>(body));
  } catch (const std::system_error& error) {
    refuse_thread(purpose, error);
  }
}

/// Checks that `count` threads can exist in addition to those that do, for libraries that end the process where one of
/// theirs cannot be started. \throws EnvironmentError as above
void require_threads(int count, const char* purpose);

}  // namespace multicard
