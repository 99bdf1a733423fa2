#pragma once
// What tests of shards say of bad data.

#include <string>

#include <gtest/gtest.h>

#include "base/Error.hpp"

namespace multicard::test {

/// `body` must end with exit code 4 and a message that holds `text`.
template <class Body>
void expect_data_error(Body&& body, const std::string& text) {
  try {
    body();
    ADD_FAILURE() << "no error with: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::data) << error.what();
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

}  // namespace multicard::test
