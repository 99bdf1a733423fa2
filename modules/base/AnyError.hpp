#pragma once
/// \file What an exception of a library means to the user.

#include <exception>
#include <string>

#include "base/Error.hpp"

namespace multicard {

/// The Error that `error` is or stands for: errors of the file system and of
/// JSON are DataErrors, a lack of memory or of another resource is an EnvironmentError, anything else a defect.
Error as_error(const std::exception& error);

/// The text of `error` as the reason of a message: without the names that the JSON library gives its errors.
std::string reason_of(const std::exception& error);

}  // namespace multicard
