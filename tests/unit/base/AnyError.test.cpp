#include "base/AnyError.hpp"

#include <filesystem>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace multicard {
namespace {

template <class Body>
Error error_from(Body&& body) {
  try {
    body();
  } catch (const std::exception& error) {
    return as_error(error);
  }
  return Error(ExitCode::complete, "nothing was thrown");
}

TEST(AnyError, KeepsErrorsOfTheProgram) {
  const Error error = error_from([] { throw NumericalError("p", "w", "s"); });
  EXPECT_EQ(error.code(), ExitCode::numerical);
  EXPECT_STREQ(error.what(), "p (w) s");
}

TEST(AnyError, NamesThePathOfAFailedOperation) {
  const Error error = error_from([] { std::filesystem::directory_iterator("/no/such/file"); });
  EXPECT_EQ(error.code(), ExitCode::data);
  EXPECT_STREQ(error.what(), "/no/such/file cannot be reached (No such file or directory)");
}

TEST(AnyError, CallsALackOfResourcesTheEnvironments) {
  const Error impossible = error_from([] { std::vector<int>().reserve(std::size_t{1} << 62); });
  EXPECT_EQ(error_from([] { throw std::bad_alloc(); }).code(), ExitCode::environment);
  EXPECT_EQ(impossible.code(), ExitCode::environment);
  EXPECT_NE(impossible.suggestion().find("If that changes nothing, this is a defect"), std::string::npos);
  EXPECT_EQ(error_from([] { throw std::system_error(EAGAIN, std::generic_category()); }).code(), ExitCode::environment);
}

TEST(AnyError, HidesTheNamesOfTheJsonLibrary) {
  const nlohmann::json object = {{"a", 1}};
  const std::vector<Error> errors{error_from([] { const auto parsed = nlohmann::json::parse("{\"a\": tru}"); }),
                                  error_from([&] { object.at("b"); }),
                                  error_from([&] { object.at("a").get<std::string>(); }),
                                  error_from([&] { object.at("a").at("c"); })};
  for (const Error& error : errors) {
    EXPECT_EQ(error.code(), ExitCode::data) << error.what();
    EXPECT_EQ(std::string(error.what()).find("json.exception"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(errors[0].why().starts_with("at line 1, column 10: syntax error")) << errors[0].what();
  EXPECT_EQ(errors[1].why(), "key 'b' not found");
  EXPECT_EQ(errors[3].why(), "a value is of another type than expected");
}

TEST(AnyError, CallsTheRestADefect) {
  EXPECT_EQ(error_from([] { throw std::logic_error("impossible"); }).code(), ExitCode::defect);
}

}  // namespace
}  // namespace multicard
