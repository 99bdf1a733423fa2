#pragma once
/// \file The profiler of LibTorch, for one window.

#include <cstdint>
#include <map>

#include <c10/core/Device.h>

#include "profile/trace/Trace.hpp"

namespace multicard {

/// Whether the names of operators have the shapes of their inputs: "aten::mm [8, 4] [4, 2]".
enum class Shapes { left_out, in_names };

/// What a session has recorded. Times are nanoseconds since 1970.
struct KinetoTrace {
  Trace trace;
  std::map<std::int64_t, std::int32_t> threads;  ///< numbers in `trace` by those of the system
};

/// Kineto's messages say what ours do, and more of itself: none is printed unless KINETO_LOG_LEVEL asks for them. To be
/// called before the program starts threads.
void silence_kineto();

/// Records what this process does, on all its threads, from its construction to stop(). One at a time in a process.
///
/// Kineto takes 0.3 us for each operator while it records, and 2.2 us and 1.5 kB for each event once it stops. Where
/// another profiler holds CUPTI, it prints an error and records the host alone.
class KinetoSession {
 public:
  /// \throws EnvironmentError where it cannot start: another profiler of LibTorch is running in the process
  KinetoSession(at::Device device, Shapes shapes);
  /// Discards what was recorded, unless it was stopped.
  ~KinetoSession();
  KinetoSession(const KinetoSession&) = delete;
  KinetoSession& operator=(const KinetoSession&) = delete;

  /// Waits for the device, and ends the session. \throws EnvironmentError where it cannot
  KinetoTrace stop();

 private:
  at::Device device_;
  Shapes shapes_;
  bool is_running_ = false;
};

}  // namespace multicard
