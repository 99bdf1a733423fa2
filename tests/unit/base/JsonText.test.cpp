#include "base/JsonText.hpp"

#include <cmath>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"

namespace multicard {
namespace {

using ::testing::HasSubstr;

TEST(JsonText, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(json_text(nlohmann::json{{"path", "a\xff/größe"}}), "{\"path\":\"a\uFFFD/größe\"}");
  EXPECT_EQ(json_text(nlohmann::ordered_json{{"b", "\xc3"}, {"a", 1}}), "{\"b\":\"\uFFFD\",\"a\":1}");
  EXPECT_EQ(json_text(nlohmann::json{{"a", 1}}, 2), "{\n  \"a\": 1\n}");
}

TEST(JsonText, RefusesNumbersThatAreNotFinite) {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto message = [](const nlohmann::ordered_json& json) {
    try {
      return json_text(json);
    } catch (const NumericalError& error) {
      return std::string(error.what());
    }
  };

  EXPECT_THAT(message(infinity), HasSubstr("a number is inf"));
  EXPECT_THAT(message({{"value", std::nan("")}}), HasSubstr("value is nan"));
  EXPECT_THAT(message({{"schedule", {{{"end_s", 1.5}}, {{"end_s", -infinity}}}}}),
              HasSubstr("schedule.1.end_s is -inf"));
  EXPECT_EQ(message({{"value", 1e308}, {"none", nullptr}}), R"({"value":1e+308,"none":null})");
}

}  // namespace
}  // namespace multicard
