#include "device/HostTensors.hpp"

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <new>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

namespace multicard {

namespace {

std::atomic<bool> is_counting = false;
std::atomic<std::int64_t> allocated = 0, peak = 0;

/// Σ bytes × the second at which they came (negative where they went). At the time t the integral of what was allocated
/// is t × allocated − this: an allocation costs one addition, and needs to know of no other.
std::atomic<double> moments = 0;

/// What the mean over time begins with: a second, and the integral until then.
std::atomic<double> begin_s = 0, begin_integral = 0;

double now_s() {
  static const auto start = std::chrono::steady_clock::now();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double integral_until(double second) {
  return second * static_cast<double>(allocated.load(std::memory_order_relaxed)) -
         moments.load(std::memory_order_relaxed);
}

void add(std::int64_t bytes) {
  moments.fetch_add(static_cast<double>(bytes) * now_s(), std::memory_order_relaxed);
  const std::int64_t now = allocated.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  // A failed exchange loads the present peak into `most`, and the loop ends once that is at least as large. No order
  // with other memory is needed: the counters are read where no step is running.
  std::int64_t most = peak.load(std::memory_order_relaxed);
  while (now > most && !peak.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
  }
}

/// LibTorch's allocator, with the size of each block in front of it.
class CountingAllocator final : public c10::Allocator {
 public:
  explicit CountingAllocator(c10::Allocator& from) : from_(from) {}

  c10::DataPtr allocate(std::size_t bytes) override {
    // Has no block, so there is nothing to put a header in; its deleter is LibTorch's.
    if (bytes == 0) return from_.allocate(0);
    if (bytes > std::numeric_limits<std::size_t>::max() - kHeader) throw std::bad_alloc();
    c10::DataPtr block = from_.allocate(bytes + kHeader);
    // A deleter is a plain function that gets the address alone, so the size must stand at a fixed distance from it.
    // The header is as long as the alignment, so that data are aligned as before.
    auto* const header = new (block.get()) Header{bytes, from_.raw_deleter()};
    block.release_context();
    add(static_cast<std::int64_t>(bytes));
    void* const data = reinterpret_cast<std::byte*>(header) + kHeader;
    return {data, data, &release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { from_.copy_data(to, from, bytes); }

 private:
  static constexpr std::size_t kHeader = 64;  ///< what blocks are aligned to

  struct Header {
    std::size_t bytes;
    c10::DeleterFnPtr deleter;
  };

  static void release(void* data) {
    if (data == nullptr) return;
    auto* const header = reinterpret_cast<Header*>(static_cast<std::byte*>(data) - kHeader);
    add(-static_cast<std::int64_t>(header->bytes));
    header->deleter(header);
  }

  c10::Allocator& from_;
};

}  // namespace

void count_host_tensors() {
  if (is_counting.exchange(true)) return;
  static CountingAllocator allocator(*c10::GetCPUAllocator());
  // Blocks from before keep their own deleter, so this may begin at any time; they are not counted, though.
  constexpr std::uint8_t kPriority = 1;  // above the default
  c10::SetCPUAllocator(&allocator, kPriority);
}

HostTensorMemory host_tensor_memory() {
  const std::int64_t bytes = allocated.load(std::memory_order_relaxed);
  const double now = now_s(), elapsed = now - begin_s;
  const double mean = elapsed > 0 ? (integral_until(now) - begin_integral) / elapsed : static_cast<double>(bytes);
  return {bytes, peak.load(std::memory_order_relaxed), std::llround(mean)};
}

void reset_peak_host_tensors() {
  peak = allocated.load(std::memory_order_relaxed);
  const double now = now_s();
  begin_s = now;
  begin_integral = integral_until(now);
}

void add_host_tensor_bytes(std::int64_t bytes) {
  if (is_counting) add(bytes);
}

}  // namespace multicard
