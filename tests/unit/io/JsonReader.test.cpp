#include "io/JsonReader.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"

namespace multicard {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// What is said by the DataError that `body` throws: problem and reason.
template <class Body>
std::string refusal(Body&& body) {
  try {
    body();
  } catch (const DataError& error) {
    return error.problem() + (error.why().empty() ? "" : " (" + error.why() + ")") +
           (error.suggestion().empty() ? "" : " " + error.suggestion());
  }
  return "nothing was thrown";
}

TEST(JsonReader, ParsesAndKeepsTheOrderWhereItIsAskedTo) {
  const std::string text = R"({"b": 1, "a": [2]})";

  EXPECT_EQ(parse_json(text, "x").dump(), R"({"a":[2],"b":1})");
  EXPECT_EQ(parse_ordered_json(text, "x").dump(), R"({"b":1,"a":[2]})");
  EXPECT_EQ(parse_json_object<ordered_json>(text, "x is wrong").dump(), R"({"b":1,"a":[2]})");
}

TEST(JsonReader, NamesTheOriginOfWhatIsNotJson) {
  const std::string deep = std::string(101, '[') + std::string(101, ']');
  std::string wide = "{\"k0\": 0";
  for (int i = 1; i <= 1000; ++i)
    wide += ", \"k" + std::to_string(i) + "\": 0";
  wide += "}";

  EXPECT_EQ(refusal([] { parse_json("{", "line 3"); }).find("line 3 is not JSON ("), 0U);
  EXPECT_EQ(refusal([&] { parse_json(deep, "line 3"); }), "line 3 is nested more than 100 deep");
  EXPECT_EQ(refusal([&] { parse_ordered_json(wide, "line 3"); }), "line 3 has an object of more than 1000 members");
  EXPECT_EQ(parse_json(wide, "line 3").size(), 1001U);
}

TEST(JsonReader, ParsesObjectsAlone) {
  EXPECT_EQ(refusal([] { parse_json_object<json>("[]", "x is not a configuration"); }),
            "x is not a configuration (it is not a JSON object)");
  EXPECT_EQ(
      refusal([] { parse_json_object<json>("{", "x is not a configuration"); }).find("x is not a configuration ("), 0U);
  const std::string deep = R"({"a": )" + std::string(200, '[') + std::string(200, ']') + "}";
  EXPECT_EQ(refusal([&] { parse_json_object<json>(deep, "x is not a configuration"); }),
            "x is not a configuration (it is nested more than 100 deep)");
}

TEST(JsonReader, FetchesMembersOfOneType) {
  const json object =
      parse_json(R"({"text": "a", "flag": true, "list": [1, 2], "none": null, "type": "t", "n": 7})", "x");

  EXPECT_EQ(member(object, "n", "x"), 7);
  EXPECT_EQ(text_member(object, "text", "x"), "a");
  EXPECT_EQ(type_of(object, "x"), "t");
  EXPECT_EQ(list_member(object, "list", "x").size(), 2U);
  EXPECT_TRUE(flag_member(object, "flag", false, "x"));
  EXPECT_TRUE(flag_member(object, "none", true, "x"));
  EXPECT_EQ(count_of(object["n"], 7, "n"), 7U);
  EXPECT_EQ(optional_member(object, "none"), nullptr);
  EXPECT_EQ(optional_member(object, "absent"), nullptr);
  EXPECT_EQ(optional_member(json(3), "n"), nullptr);
}

TEST(JsonReader, SaysWhichMemberIsOfAnotherType) {
  const ordered_json object = {{"text", 1}, {"flag", 1}, {"list", "a"}};

  EXPECT_EQ(refusal([] { member(ordered_json(3), "n", "record 5"); }), "record 5 is not a JSON object");
  EXPECT_EQ(refusal([&] { member(object, "n", "record 5"); }), "record 5 has no \"n\"");
  EXPECT_EQ(refusal([&] { text_member(object, "text", "record 5"); }), "\"text\" of record 5 is not a string");
  EXPECT_EQ(refusal([&] { flag_member(object, "flag", true, "record 5"); }),
            "\"flag\" of record 5 is not true or false");
  EXPECT_EQ(refusal([&] { list_member(object, "list", "record 5"); }), "\"list\" of record 5 is not a list");
  EXPECT_EQ(refusal([] { count_of(json(-1), 9, "an id"); }), "an id is not a whole number from 0 to 9");
  EXPECT_EQ(refusal([] { count_of(json(10), 9, "an id"); }), "an id is not a whole number from 0 to 9");
}

TEST(JsonReader, ReadsAConfigurationWithDefaults) {
  const json object = {{"rate", 0.5}, {"on", true}, {"name", "a"}, {"inner", {{"rate", 2}}}, {"none", nullptr}};
  const JsonReader reader(object, "config.json");

  EXPECT_EQ(reader.positive("rate", 1), 0.5);
  EXPECT_EQ(reader.positive("none", 1), 1);
  EXPECT_TRUE(reader.truth("on", false));
  EXPECT_EQ(reader.text("name", "b"), "a");
  EXPECT_EQ(reader.text("absent", "b"), "b");
  EXPECT_EQ(reader.object("inner")->positive("rate", 1), 2);
  EXPECT_FALSE(reader.object("absent"));
  EXPECT_TRUE(reader.holds("none"));
  EXPECT_FALSE(reader.holds("absent"));
  EXPECT_EQ(reader.find("none"), nullptr);
  EXPECT_EQ(reader.checked("rate", json(3), 1, 4), 3);
}

TEST(JsonReader, ReadsWhatMustBeThere) {
  const json object = {{"n", 7},
                       {"name", "a"},
                       {"inner", {{"n", 1}}},
                       {"rates", {{"a", 0.5}, {"b", 2}}},
                       {"names", {{"a", "x"}}},
                       {"none", nullptr}};
  const JsonReader reader(object, "config.json");

  EXPECT_EQ(reader.whole("n", 0, 7), 7);
  EXPECT_EQ(reader.text("name"), "a");
  EXPECT_EQ(reader.required_object("inner").whole("n", 0, 7), 1);
  EXPECT_EQ(reader.numbers("rates"), (std::map<std::string, double>{{"a", 0.5}, {"b", 2}}));
  EXPECT_EQ(reader.texts("names"), (std::map<std::string, std::string>{{"a", "x"}}));
  EXPECT_TRUE(reader.numbers("absent").empty() && reader.texts("none").empty());
  EXPECT_EQ(reader.required_object("rates").keys(), (std::vector<std::string>{"a", "b"}));
}

TEST(JsonReader, NamesWhatIsMissingOrOfAnotherType) {
  const json object = {{"n", 7.5}, {"name", 3}, {"rates", {{"a", "fast"}}}, {"names", {{"a", 1}}}, {"none", nullptr}};
  const JsonReader reader(object, "config.json", "", "Remove it.");

  EXPECT_EQ(refusal([&] { reader.whole("n", 0, 9); }),
            "config.json: n cannot be used (it is 7.5, not a whole number from 0 to 9) Remove it.");
  EXPECT_EQ(refusal([&] { reader.whole("none", 0, 9); }),
            "config.json: none cannot be used (it is missing) Remove it.");
  EXPECT_EQ(refusal([&] { reader.text("absent"); }), "config.json: absent cannot be used (it is missing) Remove it.");
  EXPECT_EQ(refusal([&] { reader.text("name"); }), "config.json: name cannot be used (it is 3, not a text) Remove it.");
  EXPECT_EQ(refusal([&] { reader.required_object("absent"); }),
            "config.json: absent cannot be used (it is missing) Remove it.");
  EXPECT_EQ(refusal([&] { reader.required_object("name"); }),
            "config.json: name cannot be used (it is 3, not an object) Remove it.");
  EXPECT_EQ(refusal([&] { reader.numbers("rates"); }),
            "config.json: rates.a cannot be used (it is \"fast\", not a number) Remove it.");
  EXPECT_EQ(refusal([&] { reader.texts("names"); }),
            "config.json: names.a cannot be used (it is 1, not a text) Remove it.");
  EXPECT_EQ(refusal([&] { reader.refuse("n", "it is odd", "Make it even."); }),
            "config.json: n cannot be used (it is odd) Make it even.");
}

TEST(JsonReader, NamesTheFileAndTheKeyOfAConfiguration) {
  const json object = {{"rate", -1}, {"on", {1}}, {"name", 3}, {"inner", {{"rate", "fast"}}}, {"list", json::array()}};
  const JsonReader reader(object, "config.json");
  const auto large = json(std::uint64_t{1} << 63);

  EXPECT_EQ(refusal([&] { reader.positive("rate", 1); }),
            "config.json: rate cannot be used (it is -1, not a number above 0)");
  EXPECT_EQ(refusal([&] { reader.truth("on", true); }),
            "config.json: on cannot be used (it is a list, not true or false)");
  EXPECT_EQ(refusal([&] { reader.text("name", ""); }), "config.json: name cannot be used (it is 3, not a text)");
  EXPECT_EQ(refusal([&] { reader.object("inner")->positive("rate", 1); }),
            "config.json: inner.rate cannot be used (it is \"fast\", not a number above 0)");
  EXPECT_EQ(refusal([&] { reader.object("list"); }), "config.json: list cannot be used (it is a list, not an object)");
  EXPECT_EQ(refusal([&] { reader.checked("n", large, 0, INT64_MAX); }),
            "config.json: n cannot be used (it is 9223372036854775808, not a whole number from 0 to "
            "9223372036854775807)");
  EXPECT_EQ(refusal([&] { reader.refuse("name", "it is odd"); }), "config.json: name cannot be used (it is odd)");
  EXPECT_EQ(JsonReader::shown(json(std::string(100, 'a'))), "\"" + std::string(76, 'a') + "...");
}

}  // namespace
}  // namespace multicard
