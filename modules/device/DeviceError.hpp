#pragma once
/// \file Errors of LibTorch that are the device's and not the program's.

#include <optional>
#include <string>

#include <c10/util/Exception.h>

#include "base/Error.hpp"

namespace multicard {

/// What the user is told of a device that failed or is out of memory; none for an error that is not the device's.
/// \param when continues the problem, " in step 12"; \param memory what is known of the device's memory, may be empty
std::optional<EnvironmentError> device_error(const c10::Error& error, const std::string& when,
                                             const std::string& memory = {});

}  // namespace multicard
