#include "io/JsonReason.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace multicard {
namespace {

std::string reason_of(const std::string& json) {
  try {
    return nlohmann::json::parse(json).dump();
  } catch (const nlohmann::json::exception& error) {
    return json_reason(error.what());
  }
}

TEST(JsonReason, LeavesOutTheLibrarysNumbering) {
  const std::string reason = reason_of("{\"a\": 1,\n x}");
  EXPECT_TRUE(reason.starts_with("at line 2, column 2: syntax error")) << reason;
  EXPECT_EQ(json_reason("[json.exception.type_error.302] type must be string"), "type must be string");
  EXPECT_EQ(json_reason("anything else"), "anything else");
}

TEST(JsonReason, ShowsBytesThatAreNotUtf8Escaped) {
  const std::string reason = reason_of("{\"a\": \"x\xff\xfe\"}");
  EXPECT_NE(reason.find("\\xff"), std::string::npos) << reason;
  EXPECT_EQ(reason.find('\xff'), std::string::npos) << reason;
}

TEST(Printable, KeepsUtf8AndBoundsTheRest) {
  EXPECT_EQ(printable("aé中😀"), "aé中😀");
  EXPECT_EQ(printable("a\n\x1b[31m\x7f"), "a\\x0a\\x1b[31m\\x7f");
  EXPECT_EQ(printable("\xc3(\xe4\xb8 \xed\xa0\x80 \xc0\xaf"), "\\xc3(\\xe4\\xb8 \\xed\\xa0\\x80 \\xc0\\xaf");
  EXPECT_EQ(printable(std::string(1000, 'x'), 10), "xxxxxxxxxx ...");
}

}  // namespace
}  // namespace multicard
