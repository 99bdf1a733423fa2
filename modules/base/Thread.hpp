#pragma once
/// \file The one way to start a thread.

#include <functional>
#include <thread>

namespace multicard {

/// Starts a thread. \throws EnvironmentError, naming `purpose` ("a loader's worker"), where the system allows no
/// further one (ulimit -u, the pids limit of a container). Started threads that the caller holds stay joinable: join
/// them before the error leaves their owner.
std::thread start_thread(const char* purpose, std::function<void()> body);

/// Checks that `count` threads can exist beside those that do, for libraries that end the process where one of theirs
/// cannot be started. \throws EnvironmentError as above
void require_threads(int count, const char* purpose);

}  // namespace multicard
