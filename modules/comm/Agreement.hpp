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

/// Collective. Runs `body` on every rank; `body` itself must not be collective. An Error (or bad_alloc, or
/// filesystem_error) of any rank is thrown on all ranks (see agree_on), so that a missing file on one node ends the job
/// in order.
template <class Body>
auto agreed(const Communicator& communicator, Body&& body) {
  std::optional<Error> error;
  if constexpr (std::is_void_v<std::invoke_result_t<Body>>) {
    try {
      body();
    } catch (const Error& found) {
      error = found;
    } catch (const std::bad_alloc&) {
      error = EnvironmentError("out of memory");
    } catch (const std::filesystem::filesystem_error& found) {
      error = file_error(found);
    }
    agree_on(communicator, error);
  } else {
    std::optional<std::invoke_result_t<Body>> result;
    try {
      result.emplace(body());
    } catch (const Error& found) {
      error = found;
    } catch (const std::bad_alloc&) {
      error = EnvironmentError("out of memory");
    } catch (const std::filesystem::filesystem_error& found) {
      error = file_error(found);
    }
    agree_on(communicator, error);
    return std::move(*result);
  }
}

}  // namespace multicard
