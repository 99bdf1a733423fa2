#pragma once
/// \file Errors of LibTorch that are the device's and not the program's.

#include <optional>
#include <string>
#include <string_view>

#include <c10/util/Exception.h>

#include "base/Error.hpp"

namespace multicard {

/// What memory is asked for: that of steps, or that which a run holds from its start on (weights, gradients, optimizer
/// state).
enum class MemoryUse { step, setup };

/// How errors begin that say so.
inline constexpr std::string_view kOutOfMemory = "the device is out of memory";

/// What the user is told of a device that failed or is out of memory; none for an error that is not the device's.
/// \param when continues the problem, " in step 12"; \param memory what is known of the device's memory, may be empty
std::optional<EnvironmentError> device_error(const c10::Error& error, const std::string& when,
                                             const std::string& memory = {}, MemoryUse use = MemoryUse::step);

/// as_error, which knows errors of LibTorch too: a device's (see above) and memory of the host that is not there are
/// EnvironmentErrors. MULTICARD_BACKTRACE=1 adds the stack to defects.
Error any_error(const std::exception& error, MemoryUse use = MemoryUse::step);

/// Runs `body`; an error of LibTorch becomes what any_error makes of it, which agreed() can tell the other ranks.
template <class Body>
auto with_known_errors(Body&& body, MemoryUse use = MemoryUse::step) {
  try {
    return body();
  } catch (const c10::Error& error) {
    throw any_error(error, use);
  }
}

}  // namespace multicard
