#pragma once
/// \file What the fake CUDA libraries share. The fake libcudart.so.13 defines it, the other libraries link that one.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#define FAKE_API extern "C" __attribute__((visibility("default")))

/// Counts the function it stands in as a call.
#define FAKE_COUNT()                                                      \
  do {                                                                    \
    static fake::Counter& counter_here = fake::counter("call", __func__); \
    counter_here.add();                                                   \
  } while (0)

namespace fake {

struct Counter {
  std::atomic<std::uint64_t> calls{0}, amount{0};

  void add(std::uint64_t size = 0) {
    calls.fetch_add(1, std::memory_order_relaxed);
    amount.fetch_add(size, std::memory_order_relaxed);
  }
};

/// The counter of that name; `kind` is the section of the log that it stands in: call, kernel, gemm, convolution, copy,
/// nccl, phase, total, upload or race.
Counter& counter(const char* kind, const std::string& name);

/// A whole number from the environment.
std::int64_t environment(const char* name, std::int64_t otherwise);
/// The rank of this process, 0 without a launcher.
int rank();

/// Runs `body` (may be empty) in the order of the stream: at once, or in asynchronous mode on the stream's thread.
void submit(void* stream, std::function<void()> body);
/// The section `phase` of the log has the launches between two calls of this by name; null ends it.
void enter_phase(const char* name);
/// Whether a phase has been entered, so that the program is in a step.
bool is_in_step();
/// Counts a kernel, or a library function that is one, and submits it.
void launch(void* stream, Counter& counter, std::function<void()> body = {});
/// An error that FAKE_GPU_FAIL_AT has set off: every call on the device fails with it. 0: there is none.
int device_error();
/// Keeps the call stack, if FAKE_GPU_SITES asks for it.
void note_site(const std::string& what);

enum class Place { pageable, pinned, device };

/// Takes memory of a device out of its capacity. \returns false if there is not as much
bool take_memory(std::size_t bytes, int device);
void give_memory(std::size_t bytes, int device);
void add_range(const void* begin, std::size_t bytes, int device, Place place);
/// \returns its bytes, 0 for memory that is not known
std::size_t remove_range(const void* begin);
/// memset that leaves untouched pages of zeros untouched, so that large networks need little memory.
void fill_bytes(void* begin, int value, std::size_t bytes);

int current_device();
int num_devices();
/// Of the newest CUDA that the driver serves, e.g. 13000; 0 without a driver.
int driver_version();
/// By the numbers of cudaDeviceAttr, which are the driver's too.
int device_attribute(int attribute);
void device_uuid(int device, char (&bytes)[16]);

/// Ends the program: `name` is a function that LibTorch knows and nothing has needed so far.
[[noreturn]] void not_written(const char* name);

}  // namespace fake
