#include "base/JsonText.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace multicard {
namespace {

TEST(JsonText, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(json_text(nlohmann::json{{"path", "a\xff/größe"}}), "{\"path\":\"a\uFFFD/größe\"}");
  EXPECT_EQ(json_text(nlohmann::ordered_json{{"b", "\xc3"}, {"a", 1}}), "{\"b\":\"\uFFFD\",\"a\":1}");
  EXPECT_EQ(json_text(nlohmann::json{{"a", 1}}, 2), "{\n  \"a\": 1\n}");
}

}  // namespace
}  // namespace multicard
