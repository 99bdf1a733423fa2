// Events are numbers: how often an event was recorded, and how many of these its stream has reached.
#include <chrono>

#include "cudart/Runtime.hpp"

namespace fake {

namespace {

using Clock = std::chrono::steady_clock;

struct Event {
  bool has_time = true;
  std::uint64_t recorded = 0, reached = 0, recorded_after = 0;
  Clock::time_point time{};
};

/// Work on streams may name an event that was destroyed meanwhile.
using Shared = std::shared_ptr<Event>;

constexpr std::size_t kMostAges = 100000;

struct Events {
  std::mutex mutex;
  std::condition_variable reached;
  std::vector<std::uint64_t> wait_ages;
  std::int64_t live = 0;
};

Events& events() {
  static auto* const one = new Events;
  return *one;
}

const Shared& event_of(cudaEvent_t handle) {
  return *reinterpret_cast<Shared*>(handle);
}

void wait_until(const Shared& event, std::uint64_t number) {
  std::unique_lock lock(events().mutex);
  events().reached.wait(lock, [&] { return event->reached >= number; });
}

void reach(const Shared& event, std::uint64_t number) {
  const std::lock_guard lock(events().mutex);
  event->time = Clock::now();
  event->reached = number;
  events().reached.notify_all();
}

}  // namespace

std::vector<std::uint64_t> event_wait_ages() {
  const std::lock_guard lock(events().mutex);
  return events().wait_ages;
}

std::int64_t num_live_events() {
  const std::lock_guard lock(events().mutex);
  return events().live;
}

}  // namespace fake

using fake::event_of;
using fake::events;
using fake::fail;

FAKE_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  FAKE_COUNT();
  auto* const one = new fake::Shared(std::make_shared<fake::Event>());
  (*one)->has_time = (flags & cudaEventDisableTiming) == 0;
  const std::lock_guard lock(events().mutex);
  ++events().live;
  *event = reinterpret_cast<cudaEvent_t>(one);
  return cudaSuccess;
}

FAKE_API cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

FAKE_API cudaError_t cudaEventDestroy(cudaEvent_t event) {
  FAKE_COUNT();
  const std::lock_guard lock(events().mutex);
  --events().live;
  delete reinterpret_cast<fake::Shared*>(event);
  return cudaSuccess;
}

FAKE_API cudaError_t cudaEventRecordWithFlags(cudaEvent_t handle, cudaStream_t stream, unsigned) {
  FAKE_COUNT();
  if (const int error = fake::device_error()) return fail(static_cast<cudaError_t>(error));
  const fake::Shared event = event_of(handle);
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(events().mutex);
    number = ++event->recorded;
    event->recorded_after = fake::num_submitted();
  }
  fake::stream_of(stream).submit([=] { fake::reach(event, number); });
  return cudaSuccess;
}

FAKE_API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

FAKE_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t handle, unsigned) {
  FAKE_COUNT();
  const fake::Shared event = event_of(handle);
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(events().mutex);
    number = event->recorded;
    if (event->reached >= number) return cudaSuccess;
  }
  fake::stream_of(stream).submit([=] { fake::wait_until(event, number); });
  return cudaSuccess;
}

FAKE_API cudaError_t cudaEventQuery(cudaEvent_t handle) {
  FAKE_COUNT();
  if (const int error = fake::device_error()) return fail(static_cast<cudaError_t>(error));
  const std::lock_guard lock(events().mutex);
  const fake::Shared& event = event_of(handle);
  return event->reached >= event->recorded ? cudaSuccess : fail(cudaErrorNotReady);
}

FAKE_API cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  FAKE_COUNT();
  fake::note_site(__func__);
  if (const int error = fake::device_error()) return fail(static_cast<cudaError_t>(error));
  const fake::Shared event = event_of(handle);
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(events().mutex);
    number = event->recorded;
    if (events().wait_ages.size() < fake::kMostAges)
      events().wait_ages.push_back(fake::num_submitted() - event->recorded_after);
  }
  fake::wait_until(event, number);
  return cudaSuccess;
}

FAKE_API cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t until) {
  FAKE_COUNT();
  const std::lock_guard lock(events().mutex);
  const fake::Shared &first = event_of(from), &last = event_of(until);
  if (!first->has_time || !last->has_time || first->recorded == 0 || last->recorded == 0)
    return fail(cudaErrorInvalidResourceHandle);
  if (first->reached < first->recorded || last->reached < last->recorded) return fail(cudaErrorNotReady);
  *milliseconds = std::chrono::duration<float, std::milli>(last->time - first->time).count();
  return cudaSuccess;
}
