#include "prepare/records/RecordMap.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"

namespace multicard {
namespace {

using nlohmann::json;

/// The record with its members in no particular order.
json mapped(DatasetType type, const std::vector<std::string>& options, const json& record) {
  auto changed = nlohmann::ordered_json::parse(record.dump());
  RecordMap(type, options).apply(changed);
  return json::parse(changed.dump());
}

TEST(RecordMap, RenamesFields) {
  EXPECT_EQ(mapped(DatasetType::alpaca, {"instruction=task", "output=result"}, {{"task", 1}, {"result", 2}, {"x", 3}}),
            json({{"instruction", 1}, {"output", 2}, {"x", 3}}));
}

TEST(RecordMap, ExchangesNames) {
  EXPECT_EQ(
      mapped(DatasetType::preference, {"chosen=rejected", "rejected=chosen"}, {{"chosen", "a"}, {"rejected", "b"}}),
      json({{"chosen", "b"}, {"rejected", "a"}}));
}

TEST(RecordMap, RenamesFieldsAndRolesOfMessages) {
  const json record = {{"talk", {{{"who", "visitor"}, {"said", "Hi"}}, {{"who", "host"}, {"said", "Ho"}}}}};
  const json expected = {
      {"messages", {{{"role", "user"}, {"content", "Hi"}}, {{"role", "assistant"}, {"content", "Ho"}}}}};
  EXPECT_EQ(
      mapped(DatasetType::chat,
             {"messages=talk", "message:role=who", "message:content=said", "role:user=visitor", "role:assistant=host"},
             record),
      expected);
}

TEST(RecordMap, KnowsSpellingsThatCannotMeanAnythingElse) {
  EXPECT_EQ(mapped(DatasetType::alpaca, {}, {{"instruction", "a"}, {"context", "b"}, {"response", "c"}}),
            json({{"instruction", "a"}, {"input", "b"}, {"output", "c"}}));
  EXPECT_EQ(mapped(DatasetType::chat, {}, {{"dialogue", {{{"from", "bot"}, {"value", "x"}}}}}),
            json({{"messages", {{{"from", "assistant"}, {"value", "x"}}}}}));
}

TEST(RecordMap, LeavesWhatMayMeanTwoThings) {
  const json two = {{"prompt", "a"}, {"question", "b"}, {"output", "c"}};
  EXPECT_EQ(mapped(DatasetType::alpaca, {}, two), two);
  const json other_type = {{"instruction", "a"}, {"answer", "b"}};
  EXPECT_EQ(mapped(DatasetType::alpaca, {}, other_type), other_type);
  const json there = {{"messages", json::array()}, {"dialogue", json::array()}};
  EXPECT_EQ(mapped(DatasetType::chat, {}, there), there);
  const json text = {{"conversation", "not a list"}};
  EXPECT_EQ(mapped(DatasetType::chat, {}, text), text);
}

TEST(RecordMap, KnowsWhatWasUsed) {
  RecordMap map(DatasetType::alpaca, {"output=result", "input=nothing", "role:user=unused"});
  nlohmann::ordered_json record = {{"result", 1}};
  map.apply(record);
  EXPECT_EQ(map.uses(), (std::vector<bool>{true, false, false}));
}

TEST(RecordMap, RefusesOptionsThatDoNotMap) {
  for (const char* option : {"output", "=x", "output=", "column:a=b", "role:=x"})
    EXPECT_THROW(RecordMap(DatasetType::alpaca, {option}), UsageError) << option;
  EXPECT_THROW(RecordMap(DatasetType::alpaca, {"output=a", "output=b"}), UsageError);
  EXPECT_THROW(RecordMap(DatasetType::alpaca, {"output=a", "input=a"}), UsageError);
  EXPECT_NO_THROW(RecordMap(DatasetType::chat, {"role:user=a", "role:user=b"}));
}

}  // namespace
}  // namespace multicard
