#pragma once
/// \file What the fake CUDA libraries share. The fake libcudart.so.13 defines it, the other libraries link that one.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#define FAKE_API extern "C" __attribute__((visibility("default")))

/// Counts the function it stands in as a call, which a profiler hears of. To be its first statement.
#define FAKE_COUNT()                                                    \
  static fake::Counter& counter_here = fake::counter("call", __func__); \
  counter_here.add();                                                   \
  const fake::Call call_here(__func__)

namespace fake {

struct Counter {
  std::string kind, name;
  std::atomic<std::uint64_t> calls{0}, amount{0};

  void add(std::uint64_t size = 0) {
    calls.fetch_add(1, std::memory_order_relaxed);
    amount.fetch_add(size, std::memory_order_relaxed);
  }
};

/// The counter of that name; `kind` is the section of the log that it stands in: call, kernel, gemm, convolution, copy,
/// nccl, phase, range, total, upload or race.
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
/// Whether a copy to a device's memory, or what ranks send of theirs, is made; larger ones than
/// FAKE_GPU_LARGEST_COPY_MIB are counted alone, so that models of many GB need no memory of the host.
bool is_made(std::size_t bytes);
/// Keeps the call stack, if FAKE_GPU_SITES asks for it.
void note_site(const std::string& what);
/// Keeps what was asked for in order, if FAKE_GPU_ORDER asks for it: collectives and matrix products.
/// \param bytes of a collective, as counted \param from the memory that it reads
void note_order(const std::string& what, std::uint64_t bytes = 0, const void* from = nullptr);

enum class Place { pageable, pinned, device };

/// What a profiler hears of: a call by the host, or work of a device.
struct Activity {
  enum class Kind { call, kernel, copy, set };
  Kind kind = Kind::call;
  std::string name = {};             ///< of the call or the kernel
  std::uint64_t begin = 0, end = 0;  ///< by the listener's clock
  std::uint32_t correlation = 0;     ///< of a call, and of the work that it asked for
  int device = 0, stream = 0;        ///< of work
  std::uint64_t bytes = 0;
  Place source = Place::device, target = Place::device;
};

/// A profiler: its clock and where it hears of activities, on the thread that calls. Work is told when it is asked for,
/// at times that are computed: a stream begins a work 2 us after it was asked for or at the end of the work before.
struct Listener {
  std::uint64_t (*now)();
  double ticks_per_ns;
  void (*tell)(const Activity&);
};
/// From now on this one hears of everything; null: none does. It must outlive the process.
void listen(const Listener* listener);

/// A call of the CUDA runtime, for its lifetime. Those within it are part of it.
class Call {
 public:
  explicit Call(const char* name);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  const char* name_;
  std::uint64_t begin_ = 0;
  bool is_told_ = false;
};

/// Reports work that was asked of a stream: by the call that is open, or by a library, which then has called
/// cudaLaunchKernelExC. \param ns how long it takes
void tell_work(void* stream, Activity work, double ns);
/// The same of a kernel; FAKE_GPU_KERNEL_NS says how long it takes (10000).
void tell_kernel(void* stream, const std::string& name);

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
