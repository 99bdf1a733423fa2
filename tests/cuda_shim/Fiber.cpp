#include "cuda_shim/Fiber.hpp"

#include <cstdint>
#include <utility>

#include <sanitizer/common_interface_defs.h>

// What MPI and LibTorch keep until the process ends is not a leak.
extern "C" const char* __asan_default_options() {  // NOLINT(bugprone-reserved-identifier): its name
  return "detect_leaks=0";
}

namespace multicard::cuda_shim {
namespace {

constexpr std::size_t kStackBytes = std::size_t{1} << 16;

#ifdef __SANITIZE_ADDRESS__
void leave(void** fake_stack, const void* bottom, std::size_t size) {
  __sanitizer_start_switch_fiber(fake_stack, bottom, size);
}
void arrive(void* fake_stack, const void** bottom, std::size_t* size) {
  __sanitizer_finish_switch_fiber(fake_stack, bottom, size);
}
#else
void leave(void**, const void*, std::size_t) {}
void arrive(void*, const void**, std::size_t*) {}
#endif

}  // namespace

Fiber::Fiber() : stack_(std::make_unique_for_overwrite<std::byte[]>(kStackBytes)) {}

void Fiber::start(std::function<void()> body) {
  body_ = std::move(body);
  getcontext(&own_);
  own_.uc_stack.ss_sp = stack_.get();
  own_.uc_stack.ss_size = kStackBytes;
  own_.uc_link = &caller_;
  own_space_ = {nullptr, stack_.get(), kStackBytes};
  const auto address = reinterpret_cast<std::uintptr_t>(this);
  makecontext(&own_, reinterpret_cast<void (*)()>(&Fiber::enter), 2, static_cast<unsigned>(address),
              static_cast<unsigned>(address >> 32));
}

void Fiber::resume() {
  leave(&caller_space_.fake_stack, own_space_.bottom, own_space_.size);
  swapcontext(&caller_, &own_);
  arrive(caller_space_.fake_stack, nullptr, nullptr);
}

void Fiber::pause() {
  leave(&own_space_.fake_stack, caller_space_.bottom, caller_space_.size);
  swapcontext(&own_, &caller_);
  arrive(own_space_.fake_stack, &caller_space_.bottom, &caller_space_.size);
}

void Fiber::enter(unsigned low, unsigned high) {  // makecontext passes ints
  reinterpret_cast<Fiber*>(static_cast<std::uintptr_t>(high) << 32 | low)->run();
}

void Fiber::run() {
  arrive(nullptr, &caller_space_.bottom, &caller_space_.size);
  body_();
  leave(nullptr, caller_space_.bottom, caller_space_.size);  // null: this stack is not used again
}

}  // namespace multicard::cuda_shim
