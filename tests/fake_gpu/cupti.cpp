// libcupti.so.13, as far as Kineto uses it: activities of the fake GPU as records, in the buffers that it gives.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <cupti.h>
#include <pthread.h>
#include <unistd.h>

#include "Fake.hpp"

namespace {

using fake::Activity;
using Clock = std::chrono::steady_clock;

/// A record as its bytes; in a buffer each has its length before it.
using Record = std::vector<char>;

struct Cupti {
  std::mutex mutex;
  std::set<CUpti_ActivityKind> enabled;
  std::vector<Record> records;
  std::set<std::string> names;  ///< of kernels: records point into it
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  std::uint8_t* buffer = nullptr;  ///< Kineto flushes only while one is out
  std::size_t capacity = 0;
};

Cupti& cupti() {
  static auto* const one = new Cupti;
  return *one;
}

thread_local std::map<CUpti_ExternalCorrelationKind, std::vector<std::uint64_t>> external_ids;

std::uint64_t steady_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count());
}

fake::Listener& listener() {
  static auto* const one = new fake::Listener{steady_ns, 1, nullptr};
  return *one;
}

template <class Of>
void keep(CUpti_ActivityKind kind, Of record) {
  Cupti& of = cupti();
  if (!of.enabled.contains(kind)) return;
  record.kind = kind;
  Record bytes((sizeof record + 7) / 8 * 8);
  std::memcpy(bytes.data(), &record, sizeof record);
  of.records.push_back(std::move(bytes));
  std::size_t most = 0;
  if (!of.buffer && of.request) of.request(&of.buffer, &of.capacity, &most);
}

/// A call of the runtime as CUPTI knows it.
struct KnownCall {
  CUpti_CallbackId id;
  const char* name;
};

/// Those that the fake runtime counts, by the names of their functions there.
const std::map<std::string, KnownCall>& calls() {
// Number and name of CUPTI have the version in which a call got its parameters.
#define CALL(name, version)                                           \
  {                                                                   \
#name, {                                                          \
      CUPTI_RUNTIME_TRACE_CBID_##name##_##version, #name "_" #version \
    }                                                                 \
  }
  static const std::map<std::string, KnownCall> all = {CALL(__cudaLaunchKernel, v13000),
                                                       CALL(cudaLaunchKernel, v7000),
                                                       CALL(cudaLaunchCooperativeKernel, v9000),
                                                       CALL(cudaLaunchKernelExC, v11060),
                                                       CALL(cudaMemcpy, v3020),
                                                       CALL(cudaMemcpyAsync, v3020),
                                                       CALL(cudaMemcpyPeerAsync, v4000),
                                                       CALL(cudaMemcpy2DAsync, v3020),
                                                       CALL(cudaMemset, v3020),
                                                       CALL(cudaMemsetAsync, v3020),
                                                       CALL(cudaStreamSynchronize, v3020),
                                                       CALL(cudaStreamWaitEvent, v3020),
                                                       CALL(cudaDeviceSynchronize, v3020),
                                                       CALL(cudaEventRecordWithFlags, v11010),
                                                       CALL(cudaEventQuery, v3020),
                                                       CALL(cudaEventSynchronize, v3020),
                                                       CALL(cudaMalloc, v3020),
                                                       CALL(cudaFree, v3020),
                                                       CALL(cudaHostAlloc, v3020)};
#undef CALL
  return all;
}

void keep_call(const Activity& call) {
  const auto known = calls().find(call.name);
  if (known == calls().end()) return;
  for (const auto& [kind, ids] : external_ids) {
    if (ids.empty()) continue;
    CUpti_ActivityExternalCorrelation record{};
    record.externalKind = kind;
    record.externalId = ids.back();
    record.correlationId = call.correlation;
    keep(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, record);
  }
  CUpti_ActivityAPI record{};
  record.cbid = known->second.id;
  record.start = call.begin;
  record.end = call.end;
  record.processId = static_cast<std::uint32_t>(getpid());
  record.threadId = static_cast<std::uint32_t>(pthread_self());
  record.correlationId = call.correlation;
  keep(CUPTI_ACTIVITY_KIND_RUNTIME, record);
}

template <class Of>
Of placed(const Activity& work) {
  Of record{};
  record.start = work.begin;
  record.end = work.end;
  record.deviceId = static_cast<std::uint32_t>(work.device);
  record.contextId = 1;
  record.streamId = static_cast<std::uint32_t>(work.stream);
  record.correlationId = work.correlation;
  return record;
}

void keep_kernel(const Activity& work) {
  auto record = placed<CUpti_ActivityKernel10>(work);
  record.name = cupti().names.insert(work.name).first->c_str();
  record.gridX = record.gridY = record.gridZ = record.blockX = record.blockY = record.blockZ = 1;
  record.registersPerThread = 32;
  keep(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, record);
}

std::uint8_t memory_of(fake::Place place) {
  return place == fake::Place::device   ? CUPTI_ACTIVITY_MEMORY_KIND_DEVICE
         : place == fake::Place::pinned ? CUPTI_ACTIVITY_MEMORY_KIND_PINNED
                                        : CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
}

void keep_copy(const Activity& work) {
  auto record = placed<CUpti_ActivityMemcpy6>(work);
  const bool from_device = work.source == fake::Place::device, to_device = work.target == fake::Place::device;
  record.copyKind = from_device && to_device ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOD
                    : from_device            ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOH
                                             : CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  record.srcKind = memory_of(work.source);
  record.dstKind = memory_of(work.target);
  record.bytes = work.bytes;
  keep(CUPTI_ACTIVITY_KIND_MEMCPY, record);
}

void keep_set(const Activity& work) {
  auto record = placed<CUpti_ActivityMemset4>(work);
  record.bytes = work.bytes;
  keep(CUPTI_ACTIVITY_KIND_MEMSET, record);
}

void keep_activity(const Activity& activity) {
  const std::lock_guard lock(cupti().mutex);
  switch (activity.kind) {
    case Activity::Kind::call:
      return keep_call(activity);
    case Activity::Kind::kernel:
      return keep_kernel(activity);
    case Activity::Kind::copy:
      return keep_copy(activity);
    case Activity::Kind::set:
      return keep_set(activity);
  }
}

/// FAKE_GPU_PROFILED: as under nsys.
bool is_taken() {
  return fake::environment("FAKE_GPU_PROFILED", 0) != 0;
}

/// As many of `records` from `index` on as fit. \returns the bytes that they take
std::size_t fill(std::uint8_t* buffer, std::size_t capacity, const std::vector<Record>& records, std::size_t& index) {
  std::size_t used = 0;
  for (; index < records.size() && used + 8 + records[index].size() <= capacity; ++index) {
    const std::uint64_t length = records[index].size();
    std::memcpy(buffer + used, &length, 8);
    std::memcpy(buffer + used + 8, records[index].data(), length);
    used += 8 + length;
  }
  return used;
}

}  // namespace

FAKE_API CUptiResult cuptiGetVersion(std::uint32_t* version) {
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}

FAKE_API CUptiResult cuptiGetResultString(CUptiResult, const char** text) {
  *text = "an error of the fake CUPTI";
  return CUPTI_SUCCESS;
}

FAKE_API CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc, void*) {
  if (is_taken()) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(1);
  return CUPTI_SUCCESS;
}

FAKE_API CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) {
  return CUPTI_SUCCESS;
}

FAKE_API CUptiResult cuptiEnableCallback(std::uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain,
                                         CUpti_CallbackId) {
  return CUPTI_SUCCESS;
}

FAKE_API CUptiResult cuptiEnableDomain(std::uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain) {
  return CUPTI_SUCCESS;
}

FAKE_API CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain, CUpti_CallbackId id, const char** name) {
  for (const auto& [function, call] : calls())
    if (call.id == id) {
      *name = call.name;
      return CUPTI_SUCCESS;
    }
  return CUPTI_ERROR_INVALID_PARAMETER;
}

FAKE_API CUptiResult cuptiFinalize() {
  return CUPTI_SUCCESS;
}

FAKE_API CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  if (is_taken()) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  const std::lock_guard lock(cupti().mutex);
  cupti().enabled.insert(kind);
  listener().tell = keep_activity;
  fake::listen(&listener());
  return CUPTI_SUCCESS;
}

FAKE_API CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  const std::lock_guard lock(cupti().mutex);
  cupti().enabled.erase(kind);
  if (cupti().enabled.empty()) fake::listen(nullptr);
  return CUPTI_SUCCESS;
}

FAKE_API CUptiResult cuptiActivityEnableCudaEventDeviceTimestamps(std::uint8_t) {
  return CUPTI_SUCCESS;
}

FAKE_API CUptiResult cuptiActivityEnableDriverApi(std::uint32_t, std::uint8_t) {
  return CUPTI_SUCCESS;
}

FAKE_API CUptiResult cuptiActivityEnableRuntimeApi(std::uint32_t, std::uint8_t) {
  return CUPTI_SUCCESS;
}

FAKE_API CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped) {
  *dropped = 0;
  return CUPTI_SUCCESS;
}

FAKE_API CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute, std::size_t*, void*) {
  return CUPTI_SUCCESS;
}

FAKE_API CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                    CUpti_BuffersCallbackCompleteFunc complete) {
  cupti().request = request;
  cupti().complete = complete;
  return CUPTI_SUCCESS;
}

/// Kineto's clock counts ticks of the processor, whose rate is measured here.
FAKE_API CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc now) {
  if (!now) return CUPTI_SUCCESS;
  constexpr std::chrono::milliseconds kMeasured{2};
  const Clock::time_point start = Clock::now();
  const std::uint64_t first = now();
  while (Clock::now() - start < kMeasured) {
  }
  const std::chrono::duration<double, std::nano> passed = Clock::now() - start;
  listener().now = now;
  listener().ticks_per_ns = static_cast<double>(now() - first) / passed.count();
  return CUPTI_SUCCESS;
}

FAKE_API CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, std::uint64_t id) {
  external_ids[kind].push_back(id);
  return CUPTI_SUCCESS;
}

FAKE_API CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, std::uint64_t* last) {
  std::vector<std::uint64_t>& ids = external_ids[kind];
  if (ids.empty()) return CUPTI_ERROR_QUEUE_EMPTY;
  if (last) *last = ids.back();
  ids.pop_back();
  return CUPTI_SUCCESS;
}

FAKE_API CUptiResult cuptiActivityFlushAll(std::uint32_t) {
  Cupti& of = cupti();
  std::vector<Record> records;
  std::uint8_t* buffer = nullptr;
  std::size_t capacity = 0;
  {
    const std::lock_guard lock(of.mutex);
    records.swap(of.records);
    std::swap(buffer, of.buffer);
    std::swap(capacity, of.capacity);
  }
  for (std::size_t index = 0; buffer;) {
    const std::size_t used = fill(buffer, capacity, records, index);
    of.complete(nullptr, 0, buffer, capacity, used);
    buffer = nullptr;
    std::size_t most = 0;
    if (index < records.size()) of.request(&buffer, &capacity, &most);
  }
  return CUPTI_SUCCESS;
}

FAKE_API CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record) {
  std::uint8_t* next = buffer;
  if (*record) {
    next = reinterpret_cast<std::uint8_t*>(*record);
    std::uint64_t length = 0;
    std::memcpy(&length, next - 8, 8);
    next += length;
  }
  if (next + 8 >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next + 8);
  return CUPTI_SUCCESS;
}
