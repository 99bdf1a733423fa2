#pragma once
/// \file Turning an error of some ranks into an error of all, so that nobody waits for a rank that has left.

#include <exception>
#include <filesystem>
#include <functional>
#include <optional>

#include "base/Error.hpp"
#include "comm/Communicator.hpp"

namespace multicard {

/// Collective. If any rank passes an error, every rank throws the one of the lowest such rank, marked Scope::all_ranks.
void agree_on(const Communicator& communicator, const std::optional<Error>& mine);

/// A failed operation on files as a DataError that names the path.
Error file_error(const std::filesystem::filesystem_error& error);

/// Runs `body` and returns the Error it ends with; running out of memory and failed file operations count as Errors
/// too.
template <class Body>
std::optional<Error> error_of(Body&& body) {
  try {
    body();
    return std::nullopt;
  } catch (const Error& found) {
    return found;
  } catch (const std::bad_alloc&) {
    return EnvironmentError("out of memory");
  } catch (const std::filesystem::filesystem_error& found) {
    return file_error(found);
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
