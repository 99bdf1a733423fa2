// What profilers hear of. Nothing takes the time of a GPU, so that of its work is computed.
#include <algorithm>
#include <map>
#include <utility>

#include "cudart/Runtime.hpp"

namespace fake {

namespace {

/// How far ahead the work of a stream reaches.
struct StreamTime {
  int number = 0;
  std::uint64_t end = 0;
};

std::atomic<const Listener*> listener{nullptr};
std::atomic<std::uint32_t> num_correlations{0};
thread_local std::uint32_t open_call = 0;  ///< correlation of the call that this thread is in; 0: none is told

std::mutex times_mutex;

std::map<const Stream*, StreamTime>& stream_times() {
  static auto* const all = new std::map<const Stream*, StreamTime>;
  return *all;
}

}  // namespace

void listen(const Listener* next) {
  listener = next;
}

Call::Call(const char* name) : name_(name) {
  const Listener* const hears = listener;
  if (!hears || open_call != 0) return;
  is_told_ = true;
  open_call = ++num_correlations;
  begin_ = hears->now();
}

Call::~Call() {
  if (!is_told_) return;
  const std::uint32_t correlation = std::exchange(open_call, 0);
  if (const Listener* const hears = listener)
    hears->tell({.name = name_, .begin = begin_, .end = hears->now(), .correlation = correlation});
}

void tell_work(void* handle, Activity work, double ns) {
  const Listener* const hears = listener;
  if (!hears) return;
  if (open_call == 0) {
    const Call by_a_library("cudaLaunchKernelExC");
    return tell_work(handle, std::move(work), ns);
  }
  constexpr double kLaunchNs = 2000;
  const auto ticks = [&](double length) { return static_cast<std::uint64_t>(length * hears->ticks_per_ns); };
  const Stream& stream = stream_of(static_cast<cudaStream_t>(handle));
  work.correlation = open_call;
  work.device = stream.device();
  {
    const std::lock_guard lock(times_mutex);
    StreamTime& time = stream_times()[&stream];
    if (time.number == 0) time.number = 6 + static_cast<int>(stream_times().size());
    work.stream = time.number;
    work.begin = std::max(time.end, hears->now() + ticks(kLaunchNs));
    work.end = time.end = work.begin + ticks(ns);
  }
  hears->tell(work);
}

void tell_kernel(void* stream, const std::string& name) {
  static const auto ns = static_cast<double>(environment("FAKE_GPU_KERNEL_NS", 10000));
  tell_work(stream, {.kind = Activity::Kind::kernel, .name = name}, ns);
}

}  // namespace fake
