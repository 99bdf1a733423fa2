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

/// `PROBLEM (WHY). SUGGESTION`, with a full stop, for a sentence to follow on the same line.
std::string error_sentences(const Error& error);

}  // namespace multicard
