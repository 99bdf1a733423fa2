// Copies are real. In asynchronous mode pinned memory is watched: its content when a copy is asked for must be its
// content when the copy is made, and the host may read a target only when the copy is done.
#include <cmath>
#include <cstdio>
#include <cstring>

#include "cudart/Runtime.hpp"

namespace fake {

namespace {

enum class Blocking { no, yes };

std::uint64_t hash_of(const void* at, std::size_t bytes) {
  std::uint64_t hash = 1469598103934665603ULL;
  const auto* bytes_at = static_cast<const char*>(at);
  for (std::size_t i = 0; i + 8 <= bytes; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes_at + i, 8);
    hash = (hash ^ word) * 1099511628211ULL;
  }
  for (std::size_t i = bytes / 8 * 8; i < bytes; ++i)
    hash = (hash ^ static_cast<unsigned char>(bytes_at[i])) * 1099511628211ULL;
  return hash;
}

void report_race(std::size_t bytes, const std::vector<void*>& frames) {
  const char* const what = "pinned memory changed before it was copied";
  std::fprintf(stderr, "fake GPU: race: %s (%zu bytes)\n", what, bytes);
  counter("race", what).add(bytes);
  if (settings().keeps_sites) add_site(std::string("race: ") + what, frames);
}

/// From pinned memory, which must stay as it is until the copy is made.
std::function<void()> watched_upload(void* to, const void* from, std::size_t bytes) {
  const std::uint64_t before = hash_of(from, bytes);
  const std::vector<void*> frames = settings().keeps_sites ? call_stack() : std::vector<void*>{};
  return [=] {
    if (hash_of(from, bytes) != before) report_race(bytes, frames);
    std::memcpy(to, from, bytes);
  };
}

/// How the copy is made in asynchronous mode.
std::function<void()> delayed_copy(void* to, const void* from, std::size_t bytes, Place source, Place target) {
  if (source == Place::pageable) {  // staged before the call returns
    const auto* first = static_cast<const char*>(from);
    return [to, staged = std::vector<char>(first, first + bytes)] { std::memcpy(to, staged.data(), staged.size()); };
  }
  if (source == Place::pinned) return watched_upload(to, from, bytes);
  if (target == Place::pinned) std::memset(to, 0xfe, bytes);  // who reads it too soon reads this
  return [=] { std::memmove(to, from, bytes); };
}

/// Nothing computes the few numbers that a step reads back: they are what their memory held before, such as the -100 of
/// masked tokens, which as a double is no number and would end a training. Those are read as zeros.
void clear_leftovers(void* at, std::size_t bytes) {
  constexpr std::size_t kFewNumbers = 64;
  if (bytes > kFewNumbers || bytes % sizeof(double) != 0) return;
  for (auto* one = static_cast<char*>(at); bytes > 0; one += sizeof(double), bytes -= sizeof(double)) {
    double value = 0;
    std::memcpy(&value, one, sizeof(double));
    if (std::isnan(value)) std::memset(one, 0, sizeof(double));
  }
}

Place place_of(const void* at) {
  const auto range = range_of(at);
  return range ? range->place : Place::pageable;
}

/// At 20 GB/s.
double copy_ns(std::size_t bytes) {
  return 1000 + static_cast<double>(bytes) / 20;
}

cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaStream_t handle, Blocking blocking) {
  if (const int error = device_error()) return fail(static_cast<cudaError_t>(error));
  if (bytes == 0) return cudaSuccess;
  const Place source = place_of(from), target = place_of(to);
  std::string name = std::string(name_of(source)) + " -> " + name_of(target);
  if (blocking == Blocking::yes) name += ", blocking";
  counter("copy", name).add(bytes);
  tell_work(handle, {.kind = Activity::Kind::copy, .bytes = bytes, .source = source, .target = target}, copy_ns(bytes));
  if (blocking == Blocking::yes || source == Place::pageable || target == Place::pageable) note_site("copy " + name);
  if (target == Place::device && !is_made(bytes)) return cudaSuccess;
  Stream& stream = stream_of(handle);
  if (!settings().is_async) {
    stream.submit([=] {
      std::memmove(to, from, bytes);
      if (source == Place::device && target == Place::pinned) clear_leftovers(to, bytes);
    });
    return cudaSuccess;
  }
  if (source == Place::pinned && target == Place::device && is_in_step())  // weights go up before the first one
    counter("upload", num_unfinished() == 0 ? "asked of an idle device" : "asked while the device works").add(bytes);
  stream.submit(delayed_copy(to, from, bytes, source, target));
  if (blocking == Blocking::yes || target == Place::pageable) stream.drain();
  return cudaSuccess;
}

cudaError_t set(void* at, int value, std::size_t bytes, cudaStream_t stream) {
  if (const int error = device_error()) return fail(static_cast<cudaError_t>(error));
  counter("copy", "memset").add(bytes);
  tell_work(stream, {.kind = Activity::Kind::set, .bytes = bytes}, copy_ns(bytes));
  stream_of(stream).submit([=] { fill_bytes(at, value, bytes); });
  return cudaSuccess;
}

}  // namespace

const char* name_of(Place place) {
  return place == Place::device ? "device" : place == Place::pinned ? "pinned" : "pageable";
}

}  // namespace fake

FAKE_API cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  FAKE_COUNT();
  return fake::copy(to, from, bytes, nullptr, fake::Blocking::yes);
}

FAKE_API cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                                     cudaStream_t stream) {
  FAKE_COUNT();
  return fake::copy(to, from, bytes, stream, fake::Blocking::no);
}

FAKE_API cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t bytes, cudaStream_t stream) {
  FAKE_COUNT();
  return fake::copy(to, from, bytes, stream, fake::Blocking::no);
}

FAKE_API cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                       std::size_t width, std::size_t height, cudaMemcpyKind, cudaStream_t stream) {
  FAKE_COUNT();
  for (std::size_t row = 0; row < height; ++row) {
    const cudaError_t error =
        fake::copy(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, width,
                   stream, fake::Blocking::no);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

FAKE_API cudaError_t cudaMemset(void* at, int value, std::size_t bytes) {
  FAKE_COUNT();
  return fake::set(at, value, bytes, nullptr);
}

FAKE_API cudaError_t cudaMemsetAsync(void* at, int value, std::size_t bytes, cudaStream_t stream) {
  FAKE_COUNT();
  return fake::set(at, value, bytes, stream);
}
