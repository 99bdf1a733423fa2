#include "base/Shown.hpp"

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "base/Utf8.hpp"

namespace multicard {
namespace {

TEST(Shown, LeavesOrdinaryTextAsItIs) {
  EXPECT_EQ(shown("model.path: naïve \u4e2d\u6587\n\tsecond line"), "model.path: naïve \u4e2d\u6587\n\tsecond line");
  EXPECT_EQ(shown(""), "");
}

TEST(Shown, EscapesWhatIsInvalidOrControlsATerminal) {
  EXPECT_EQ(shown("a\xff\xc3"), "a\\xff\\xc3");
  EXPECT_EQ(shown("\x1b[2Jgone\r"), "\\x1b[2Jgone\\x0d");
  EXPECT_EQ(shown("\u0085"), "\\x85");
  EXPECT_EQ(shown("a\u202egpj.b\u2067"), "a\\u202egpj.b\\u2067");
  EXPECT_EQ(shown("\u05e9\u05dc\u05d5\u05dd"), "\u05e9\u05dc\u05d5\u05dd");
  EXPECT_EQ(shown(std::string_view("\0", 1)), "\\x00");
}

TEST(Shown, LeavesOutTheMiddleOfWhatIsTooLong) {
  const std::string text = shown(std::string(3'000'000, 'x') + "end", 100);

  EXPECT_LE(text.size(), 100u);
  EXPECT_TRUE(text.starts_with("xxxxxxxxxx"));
  EXPECT_NE(text.find("...(3,000,003 bytes)..."), std::string::npos);
  EXPECT_TRUE(text.ends_with("xend"));
}

TEST(Shown, CutsBetweenCharacters) {
  for (std::size_t longest = 40; longest < 60; ++longest) {
    std::string text;
    for (int i = 0; i < 100; ++i)
      text += "\u20ac";
    const std::string found = shown(text, longest);

    EXPECT_TRUE(is_valid_utf8(found)) << longest;
    EXPECT_LE(found.size(), longest);
  }
}

TEST(Shown, IsWhatErrorsSay) {
  const DataError error(std::string("\xfe") + std::string(100'000, 'a'), "why\x07", std::string(9'000, 'b'));

  EXPECT_TRUE(is_valid_utf8(error.what()));
  EXPECT_LT(std::string(error.what()).size(), 3 * kLongestShown);
  EXPECT_EQ(error.why(), "why\\x07");
}

}  // namespace
}  // namespace multicard
