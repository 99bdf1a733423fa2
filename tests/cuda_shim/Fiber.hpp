#pragma once
/// \file A function that runs on a stack of its own and can stop in the middle.

#include <functional>
#include <memory>

#include <ucontext.h>

namespace multicard::cuda_shim {

class Fiber {
 public:
  Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// What resume() begins with; a body that has not ended is forgotten.
  void start(std::function<void()> body);
  /// Runs the body until it pauses or ends. It must not throw.
  void resume();
  /// Called by the body: returns when resume() is called again.
  void pause();

 private:
  static void enter(unsigned low, unsigned high);
  void run();

  struct AddressSpace {  ///< what AddressSanitizer keeps of a stack while another one is used
    void* fake_stack = nullptr;
    const void* bottom = nullptr;
    std::size_t size = 0;
  };

  std::unique_ptr<std::byte[]> stack_;
  ucontext_t own_{}, caller_{};
  AddressSpace own_space_, caller_space_;
  std::function<void()> body_;
};

}  // namespace multicard::cuda_shim
