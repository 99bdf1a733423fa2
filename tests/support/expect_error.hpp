#pragma once
// The message of the error that an action throws.

#include <string>

#include <gtest/gtest.h>

#include "base/Error.hpp"

namespace multicard::test {

/// What `action` throws as `E`; fails the test when it throws nothing or something else.
template <class E, class Action>
std::string message_of(Action&& action) {
  try {
    action();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another type of error: " << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

}  // namespace multicard::test
