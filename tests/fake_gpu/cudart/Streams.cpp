#include <chrono>
#include <map>
#include <set>
#include <string_view>

#include "cudart/Runtime.hpp"

namespace fake {

namespace {

struct Streams {
  std::mutex mutex;
  std::set<Stream*> all;
  std::map<int, Stream*> defaults;
};

/// Never destroyed, nor are the streams in it: threads work on them while the process ends.
Streams& streams() {
  static auto* const one = new Streams;
  return *one;
}

std::atomic<std::uint64_t> submitted{0}, launched{0}, finished{0};
std::atomic<Counter*> phase{nullptr};  ///< that the launches are in, null outside of a step

Stream* add_stream(int priority) {
  Streams& known = streams();
  const std::lock_guard lock(known.mutex);
  return *known.all.insert(new Stream(current_device(), priority)).first;
}

}  // namespace

Stream::~Stream() {
  if (!worker_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  wake_.notify_one();
  worker_.join();
}

void Stream::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return is_ending_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::function<void()> body = std::move(queue_.front());
    queue_.pop_front();
    is_busy_ = true;
    lock.unlock();
    if (body) body();
    body = nullptr;
    lock.lock();
    is_busy_ = false;
    if (queue_.empty()) drained_.notify_all();
  }
}

void Stream::submit(std::function<void()> body) {
  submitted.fetch_add(1, std::memory_order_relaxed);
  if (!settings().is_async) {
    if (body) body();
    return;
  }
  const std::lock_guard lock(mutex_);
  if (!worker_.joinable()) worker_ = std::thread(&Stream::work, this);
  queue_.push_back(std::move(body));
  wake_.notify_one();
}

void Stream::drain() {
  std::unique_lock lock(mutex_);
  drained_.wait(lock, [&] { return queue_.empty() && !is_busy_; });
}

bool Stream::is_idle() {
  const std::lock_guard lock(mutex_);
  return queue_.empty() && !is_busy_;
}

Stream& stream_of(cudaStream_t handle) {
  if (reinterpret_cast<std::uintptr_t>(handle) > reinterpret_cast<std::uintptr_t>(cudaStreamPerThread))
    return *reinterpret_cast<Stream*>(handle);
  Streams& known = streams();
  const std::lock_guard lock(known.mutex);
  Stream*& one = known.defaults[current_device()];
  if (!one) one = *known.all.insert(new Stream(current_device(), 0)).first;
  return *one;
}

void drain_all() {
  Streams& known = streams();
  std::set<Stream*> all;
  {
    const std::lock_guard lock(known.mutex);
    all = known.all;
  }
  for (Stream* const stream : all)
    stream->drain();
}

std::uint64_t num_unfinished() {
  return launched - finished;
}

std::uint64_t num_submitted() {
  return submitted;
}

std::uint64_t num_launched() {
  return launched;
}

void submit(void* stream, std::function<void()> body) {
  stream_of(static_cast<cudaStream_t>(stream)).submit(std::move(body));
}

bool is_in_step() {
  return phase != nullptr;
}

void enter_phase(const char* name) {
  phase = name ? &counter("phase", name) : nullptr;
  if (name && std::string_view(name) == "data_wait") begin_step();  // the first phase of a step
}

void launch(void* stream, Counter& counter, std::function<void()> body) {
  launched.fetch_add(1, std::memory_order_relaxed);
  counter.add();
  if (Counter* const entered = phase) entered->add();
  if (counter.kind == "gemm") note_order("gemm");
  tell_kernel(stream, counter.kind == "kernel" ? counter.name : counter.kind + " " + counter.name);
  submit(stream, [body = std::move(body)] {
    if (settings().kernel_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(settings().kernel_us));
    if (body) body();
    finished.fetch_add(1, std::memory_order_relaxed);
  });
}

}  // namespace fake

using fake::fail;
using fake::Stream;
using fake::stream_of;

FAKE_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int priority) {
  FAKE_COUNT();
  *stream = reinterpret_cast<cudaStream_t>(fake::add_stream(priority));
  return cudaSuccess;
}

FAKE_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}

FAKE_API cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  FAKE_COUNT();
  Stream* const stream = &stream_of(handle);
  {
    const std::lock_guard lock(fake::streams().mutex);
    fake::streams().all.erase(stream);
  }
  stream->drain();
  delete stream;
  return cudaSuccess;
}

FAKE_API cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  *priority = stream_of(stream).priority();
  return cudaSuccess;
}

FAKE_API cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return cudaSuccess;
}

FAKE_API cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  FAKE_COUNT();
  fake::note_site(__func__);
  if (const int error = fake::device_error()) return fail(static_cast<cudaError_t>(error));
  stream_of(stream).drain();
  return cudaSuccess;
}

FAKE_API cudaError_t cudaStreamQuery(cudaStream_t stream) {
  FAKE_COUNT();
  if (const int error = fake::device_error()) return fail(static_cast<cudaError_t>(error));
  return stream_of(stream).is_idle() ? cudaSuccess : fail(cudaErrorNotReady);
}

FAKE_API cudaError_t cudaDeviceSynchronize() {
  FAKE_COUNT();
  fake::note_site(__func__);
  if (const int error = fake::device_error()) return fail(static_cast<cudaError_t>(error));
  fake::drain_all();
  return cudaSuccess;
}

FAKE_API cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t body, void* data) {
  FAKE_COUNT();
  stream_of(stream).submit([=] { body(data); });
  return cudaSuccess;
}

// Nothing captures graphs.
FAKE_API cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

FAKE_API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t, cudaStreamCaptureStatus* status, unsigned long long*,
                                              cudaGraph_t*, const cudaGraphNode_t**, const cudaGraphEdgeData**,
                                              std::size_t*) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

FAKE_API cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  thread_local cudaStreamCaptureMode own = cudaStreamCaptureModeGlobal;
  std::swap(*mode, own);
  return cudaSuccess;
}
