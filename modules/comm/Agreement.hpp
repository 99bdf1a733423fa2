#pragma once
/// \file Turning an error of some ranks into an error of all, so that none waits for a rank that has left.

#include <exception>
#include <functional>
#include <optional>

#include "base/Error.hpp"
#include "comm/Communicator.hpp"

namespace multicard {

/// Collective. If any rank passes an error, every rank throws the one of the lowest such rank, marked Scope::all_ranks.
void agree_on(const Communicator& communicator, const std::optional<Error>& mine);

/// What as_error makes of the exception that is being handled; a defect is thrown again.
Error outcome_of(const std::exception& error);

/// Runs `body` and returns the Error it ends with; running out of memory, failed file operations and whatever else
/// as_error knows count as Errors too.
template <class Body>
std::optional<Error> error_of(Body&& body) {
  try {
    body();
    return std::nullopt;
  } catch (const std::exception& error) {
    return outcome_of(error);
  }
}

/// Collective. Runs `body` on every rank and returns its value; `body` itself must not be collective. An error of any
/// rank (see error_of) is thrown on all ranks (see agree_on), so that a missing file on one node ends the job in order.
template <class Body>
auto agreed(const Communicator& communicator, Body&& body) {
  if constexpr (std::is_void_v<std::invoke_result_t<Body>>) {
    agree_on(communicator, error_of(body));
  } else {
    std::optional<std::invoke_result_t<Body>> result;
    agree_on(communicator, error_of([&] { result.emplace(body()); }));
    return std::move(*result);
  }
}

}  // namespace multicard
