#pragma once
/// \file Work that some ranks finish long before others.

#include <exception>

#include "comm/Agreement.hpp"

namespace multicard {

/// Collective. As agreed(), but the ranks that are done sleep until the last one is, however long that takes: their
/// waiting is no sign of a fault. `body` must not be collective and may leave its results where it likes.
template <class Body>
void agreed_after_long_work(const Communicator& communicator, Body&& body) {
  std::exception_ptr failure;
  try {
    body();
  } catch (...) {
    failure = std::current_exception();
  }
  communicator.idle_barrier();
  agreed(communicator, [&] {
    if (failure) std::rethrow_exception(failure);
  });
}

}  // namespace multicard
