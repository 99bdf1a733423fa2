// Ending a text where a string occurs, whatever the pieces it arrives in.
#include "text/prompts/StopStrings.hpp"

#include <gtest/gtest.h>

#include "base/Error.hpp"

namespace multicard {
namespace {

// What `stop` shows of `text` when it arrives `size` bytes at a time.
std::string shown(StopStrings& stop, const std::string& text, std::size_t size) {
  std::string all;
  for (std::size_t first = 0; first < text.size(); first += size)
    all += stop.next(text.substr(first, size));
  return all;
}

// The same, of a text that is stopped.
std::string shown(const std::string& text, std::size_t size, const std::vector<std::string>& stops) {
  StopStrings stop(stops);
  std::string all = shown(stop, text, size);
  EXPECT_TRUE(stop.stopped()) << text;
  return all + stop.finish();
}

TEST(StopStrings, EndsBeforeTheFirstStopString) {
  for (std::size_t size = 1; size < 12; ++size) {
    EXPECT_EQ(shown("one. two. three", size, {"three", ". "}), "one") << size;
    EXPECT_EQ(shown("aaab", size, {"aab"}), "a") << size;
    EXPECT_EQ(shown("ababac!", size, {"abac", "x"}), "ab") << size;
    EXPECT_EQ(shown("stop", size, {"stop"}), "") << size;
  }
}

TEST(StopStrings, PassesOnATextWithoutOne) {
  for (std::size_t size = 1; size < 12; ++size) {
    StopStrings stop({"\n\n", "###"});
    const std::string text = "a\nb ## c#", all = shown(stop, text, size);
    EXPECT_EQ(all, "a\nb ## c") << size;  // what could begin a stop string is held back
    EXPECT_EQ(all + stop.finish(), text);
    EXPECT_FALSE(stop.stopped());
  }
}

TEST(StopStrings, ShowsWithoutStopStringsWhatArrives) {
  StopStrings stop({});

  EXPECT_EQ(stop.next("any"), "any");
  EXPECT_EQ(stop.finish(), "");
}

TEST(StopStrings, ShowsNothingAfterwards) {
  StopStrings stop({"b"});

  EXPECT_EQ(stop.next("abc"), "a");
  EXPECT_EQ(stop.next("d"), "");
  EXPECT_EQ(stop.finish(), "");
  EXPECT_THROW(StopStrings({"x", ""}), UsageError);
}

}  // namespace
}  // namespace multicard
