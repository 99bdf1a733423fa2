#pragma once
/// \file How an error that ends a program is written.

#include <string>

#include "base/Error.hpp"

namespace multicard {

/// `PROBLEM (WHY)`, and the suggestion, which is what a reader acts on, on a line of its own:
///
///     deck x.yaml cannot be read (No such file or directory)
///       Did you mean y.yaml?
std::string error_report(const Error& error);

}  // namespace multicard
