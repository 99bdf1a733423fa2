#include "watch/Plot.hpp"

#include <cmath>
#include <cstdlib>

#include <gtest/gtest.h>

#include "base/Utf8.hpp"

namespace multicard {
namespace {

TEST(Plot, DrawsARisingLineFromTheLowestToTheHighestRow) {
  const std::vector<PlotPoint> points{{0, 0}, {10, 3}};
  const std::vector<std::string> lines = curve(points, 4, 4, 0, 3, Characters::ascii);
  EXPECT_EQ(lines, (std::vector<std::string>{"   *", "  **", " ** ", "**  "}));
}

TEST(Plot, DrawsDotsOfBraille) {
  const std::vector<PlotPoint> points{{0, 0}, {1, 3}};
  EXPECT_EQ(curve(points, 1, 1, 0, 3, Characters::braille), std::vector<std::string>{"\u28f8"}) << "a rise in one cell";
  EXPECT_EQ(curve({}, 2, 1, 0, 1, Characters::braille), std::vector<std::string>{"\u2800\u2800"});
}

TEST(Plot, HasItsLimitsAndLeavesOutWhatIsNotFinite) {
  const std::vector<PlotPoint> points{{0, 1.25}, {1, NAN}, {2, INFINITY}, {3, 0.25}};
  const std::vector<std::string> lines = plot("loss", points, 20, 3, Characters::ascii);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0], "loss");
  EXPECT_EQ(lines[1].substr(0, 10), "    1.25 |");
  EXPECT_EQ(lines[3].substr(0, 10), "    0.25 |");
  for (const std::string& line : lines)
    EXPECT_LE(num_characters(line), 20U);
  EXPECT_EQ(plot("rate", {{0, NAN}}, 20, 3, Characters::ascii), std::vector<std::string>{"rate"});
}

TEST(Plot, TakesTheCharactersOfTheLocale) {
  unsetenv("LC_ALL");
  unsetenv("LC_CTYPE");
  setenv("LANG", "de_DE.UTF-8", 1);
  EXPECT_EQ(characters_of_locale(), Characters::braille);
  setenv("LC_CTYPE", "POSIX", 1);
  EXPECT_EQ(characters_of_locale(), Characters::ascii);
  setenv("LC_ALL", "C.utf8", 1);
  EXPECT_EQ(characters_of_locale(), Characters::braille);
}

}  // namespace
}  // namespace multicard
