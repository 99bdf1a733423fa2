// Patterns against Oniguruma as the tokenizers library has it: tests/data/tokenizers/oracles/splits.json, which
// tests/peers/splits_test.py --oracle makes. Where a walk differs, that test names the characters.

#include "text/regex/Regex.hpp"

#include <gtest/gtest.h>

#include "Data.hpp"
#include "SplitWalk.hpp"
#include "base/Error.hpp"
#include "io/Sha256.hpp"
#include "text/regex/RegexSet.hpp"
#include "text/unicode/CodePointSet.hpp"

namespace multicard {
namespace {

using nlohmann::json;

TEST(Regex, SplitsAroundEveryCharacterAsTheLibraryDoes) {
  const json oracle = read_oracle("splits");
  ASSERT_GT(oracle["walks"].size(), 20u);
  for (const json& walk : oracle["walks"]) {
    SCOPED_TRACE(walk["name"].dump());
    const Regex regex(walk["pattern"].get<std::string>());
    for (std::size_t i = 0; i < oracle["contexts"].size(); ++i) {
      const json& context = oracle["contexts"][i];
      SCOPED_TRACE(context.dump());
      EXPECT_EQ(sha256(split_walk(regex, {context[0], context[1]}, oracle["ranges"])), walk["sha256"][i]);
    }
  }
}

TEST(Regex, ReadsSyntaxAsTheLibraryDoes) {
  const json oracle = read_oracle("splits");
  ASSERT_GT(oracle["syntax"].size(), 100u);
  for (const json& one : oracle["syntax"]) {
    SCOPED_TRACE(one[0].dump());
    const Regex regex(one[0].get<std::string>());
    for (std::size_t i = 0; i < oracle["texts"].size(); ++i)
      EXPECT_EQ(split_lengths(regex, oracle["texts"][i]), one[1][i]) << oracle["texts"][i];
  }
}

TEST(Regex, RefusesWhatItDoesNotTranslate) {
  const json oracle = read_oracle("splits");
  for (const json& pattern : oracle["refused"])
    EXPECT_THROW(Regex(pattern.get<std::string>()), DataError) << pattern;
  try {
    Regex("(a)\\1");
    FAIL();
  } catch (const DataError& error) {
    EXPECT_EQ(error.why(), "it refers to a group");
  }
}

TEST(Regex, RefusesPatternsThatBecomeTooLong) {  // soon
  const auto why_refused = [](const std::string& unit, std::size_t count) {
    std::string pattern;
    for (std::size_t i = 0; i < count; ++i)
      pattern += unit;
    try {
      const Regex regex(pattern);
      return std::string();
    } catch (const DataError& error) {
      return error.why();
    }
  };
  EXPECT_EQ(why_refused("\\p{Alphabetic}", 4000), "it becomes too long when its classes are spelt out");
  EXPECT_EQ(why_refused("(?i:[\\p{Alphabetic}ß])", 2500), "it becomes too long when its classes are spelt out");
  EXPECT_EQ(why_refused("\\p{L}?", 100), "");
}

TEST(Regex, HasOnigurumasClasses) {
  const auto matches = [](const char* pattern, std::string_view text) {
    const std::optional<Regex::Match> match = Regex(pattern).find(text, 0);
    return match && match->begin == 0 && match->end == text.size();
  };
  EXPECT_TRUE(matches("\\s", "\u0085"));
  EXPECT_FALSE(matches("\\s", "\u180e"));
  EXPECT_TRUE(matches("[^\\s]", "\u180e"));
  EXPECT_TRUE(matches("\\w+", "aé_9\u0301"));
  EXPECT_TRUE(matches("\\w", "²"));
  EXPECT_FALSE(matches("[\\w]", "²"));  // Oniguruma has two
  EXPECT_TRUE(matches("(?i:'S)", "'\u017f"));
  EXPECT_TRUE(matches("\\p{Han}", "中"));
  EXPECT_FALSE(matches("\\p{Han}", "\u3006"));  // used with Han, but of the script Common... in script extensions only
  EXPECT_TRUE(matches(".*", "a\0b"));
}

TEST(CodePointSet, JoinsAndSplitsRanges) {
  const CodePointSet set({{'x', 'z'}, {'a', 'c'}, {'b', 'd'}, {'e', 'e'}});
  ASSERT_EQ(set.ranges().size(), 2u);
  EXPECT_EQ(set.ranges()[0].last, U'e');
  EXPECT_TRUE(set.contains('e') && set.contains('y'));
  EXPECT_FALSE(set.contains('f') || set.contains('w'));
  EXPECT_EQ(set.complement().complement().ranges().size(), 2u);
  EXPECT_EQ((set - CodePointSet::of('b')).ranges().size(), 3u);
  EXPECT_TRUE((set & CodePointSet({{'f', 'w'}})).is_empty());
}

TEST(RegexSet, HoldsExactlyItsMembers) {
  // Most of the capital letters, with a hole in a category and with members outside any: no category fits.
  const CodePointSet set({{U'A', U'Y'}, {0xC0, 0x17F}, {0xD7F0, 0xE010}, {0x10FFFF, 0x10FFFF}});
  const Regex regex = Regex::whole(pcre2_set(set), {});
  for (char32_t character = 0; character <= 0x10FFFF; ++character) {
    if (character >= 0xD800 && character <= 0xDFFF) continue;
    std::string text;
    append_utf8(text, character);
    ASSERT_EQ(regex.find(text, 0).has_value(), set.contains(character)) << static_cast<std::uint32_t>(character);
  }
}

}  // namespace
}  // namespace multicard
