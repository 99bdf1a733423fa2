#include "io/ForeignFormat.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"

namespace multicard {
namespace {

using nlohmann::json;
using enum KeyUse;

constexpr ForeignKey kFirst[] = {
    {"width", used, "how wide it is"},
    {"author", harmless, "who wrote it"},
    {"penalty", named, "answers differ", 1},
};
constexpr ForeignKey kSecond[] = {
    {"experts", unsupported, "a mixture of experts"},
};

const ForeignFormat& format() {
  static const ForeignFormat both{"format", "a file", {kFirst, kSecond}};
  return both;
}

std::vector<std::string> remarks(const json& object) {
  return left_out(JsonReader(object, "a.json", "inner."), format());
}

TEST(ForeignFormat, SaysWhichKeysAreLeftOut) {
  EXPECT_TRUE(remarks({{"width", 3}, {"author", "me"}}).empty());
  EXPECT_EQ(remarks({{"widht", 3}, {"penalty", 1.1}, {"of_tomorrow", {{"x", 1}}}}),
            (std::vector<std::string>{"a.json: inner.of_tomorrow is not read: no such key is known",
                                      "a.json: inner.penalty is not read: answers differ",
                                      "a.json: inner.widht is not read: no such key is known; did you mean width?"}));
}

TEST(ForeignFormat, LeavesKeysThatSayNothingAlone) {
  for (const json& nothing : {json(), json(false), json(0), json(0.0), json(""), json::array(), json::object()})
    EXPECT_TRUE(remarks({{"experts", nothing}}).empty()) << nothing;
  for (const json& nothing : {json(), json(false), json(1), json(1.0)})
    EXPECT_TRUE(remarks({{"penalty", nothing}}).empty()) << nothing;
  EXPECT_TRUE(remarks({{"of_tomorrow", nullptr}}).empty());
}

TEST(ForeignFormat, RefusesWhatOthersWouldRead) {
  for (const json& something : {json(true), json(8), json(0.5), json("x"), json{1}, json{{"a", 1}}}) {
    try {
      remarks({{"experts", something}});
      ADD_FAILURE() << something;
    } catch (const DataError& error) {
      EXPECT_EQ(error.problem(), "a.json: inner.experts cannot be used");
      EXPECT_EQ(error.why(), "a mixture of experts, which is not supported");
    }
  }
}

TEST(ForeignFormat, IsShownByUse) {
  EXPECT_EQ(markdown_table(format()),
            "| key | | what it is |\n|---|---|---|\n| `width` | used | how wide it is |\n"
            "| `experts` | refused | a mixture of experts |\n| `penalty` | named | answers differ |\n"
            "| `author` | left out | who wrote it |\n");
}

}  // namespace
}  // namespace multicard
