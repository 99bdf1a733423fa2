#pragma once
/// \file Inside the fake libcudart.so.13.

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <cuda_runtime_api.h>

#include "Fake.hpp"

namespace fake {

constexpr std::size_t kMiB = std::size_t{1} << 20;

/// What the environment asks for; tests/fake_gpu/fakegpu says what each means.
struct Settings {
  int devices, driver, fail_rank;
  bool is_async, keeps_sites, keeps_order;
  std::int64_t kernel_us, memory, hidden, hidden_from, fail_at;
  std::int64_t largest_copy;  ///< bytes; see is_made()
  cudaError_t fail_error;
  std::vector<std::int64_t> log_at;
};
const Settings& settings();

/// Remembers the error for cudaGetLastError.
cudaError_t fail(cudaError_t error);

/// Work in order: at once, or in asynchronous mode on a thread.
class Stream {
 public:
  Stream(int device, int priority) : device_(device), priority_(priority) {}
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void submit(std::function<void()> body);
  void drain();
  bool is_idle();
  int device() const { return device_; }
  int priority() const { return priority_; }

 private:
  void work();

  int device_, priority_;
  std::mutex mutex_;
  std::condition_variable wake_, drained_;
  std::deque<std::function<void()>> queue_;
  bool is_busy_ = false, is_ending_ = false;
  std::thread worker_;
};

/// The default streams (null, legacy, per thread) are one stream of the current device.
Stream& stream_of(cudaStream_t handle);
/// Waits for everything on all devices.
void drain_all();
/// Operations that were asked of streams so far, the measure of an event's age.
std::uint64_t num_submitted();
/// Kernels and library functions that were launched so far; FAKE_GPU_FAIL_AT counts them.
std::uint64_t num_launched();
/// Of these, what the device has not finished.
std::uint64_t num_unfinished();

struct Range {
  std::size_t bytes;
  int device;
  Place place;
};
std::optional<Range> range_of(const void* at);
std::int64_t used_memory(int device);
std::int64_t peak_memory(int device);
const char* name_of(Place place);

std::string demangled(const std::string& name);

/// A step begins, on the thread that trains: writes the counts of those before it if FAKE_GPU_LOG_AT has their number.
void begin_step();
std::int64_t num_begun_steps();
/// Bytes that a device has for those who ask for it now.
std::int64_t memory_to_give();

/// The ages of the events that the host waited for, in operations, oldest wait first.
std::vector<std::uint64_t> event_wait_ages();
std::int64_t num_live_events();

/// A call stack and how often it was met.
struct Site {
  std::string what;
  std::vector<void*> frames;
  std::uint64_t count = 0;
};
std::vector<void*> call_stack();
void add_site(const std::string& what, const std::vector<void*>& frames);
std::vector<Site> all_sites();

/// What note_order() was told, oldest first.
struct Asked {
  std::string what;
  std::uint64_t bytes;
  const void* from;
};
std::vector<Asked> all_asked();

struct NamedCounter {
  std::string kind, name;
  std::uint64_t calls, amount;
};
/// Those that are not zero, by kind and name.
std::vector<NamedCounter> all_counters();

}  // namespace fake
