#include "watch/Picture.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/Utf8.hpp"
#include "support/watch_status.hpp"

namespace multicard {
namespace {

OutputView view_of(const WatchStatus& status, Liveness liveness = Liveness::working) {
  return {"results/x", liveness, "", status, 1.0, {}};
}

std::string text_of(const OutputView& view, std::size_t columns, Characters characters) {
  std::string text;
  for (const PictureLine& line : picture_of(view, {columns, characters, 4, view.status->updated})) {
    EXPECT_LE(num_characters(line.text), columns) << line.text;
    text += line.text + "\n";
  }
  return text;
}

TEST(Picture, FitsEveryWidthWithAllThatIsKnown) {
  for (const std::size_t columns : {60U, 75U, 76U, 80U, 121U, 200U})
    for (const Characters characters : {Characters::ascii, Characters::braille}) {
      const std::string text = text_of(view_of(test::whole_status()), columns, characters);
      for (const char* part : {"training", "30/120", "loss 0.5", "images/s", "1.8 s left", "forward 30.0 %",
                               "rank 0 is", "200 B", "0.75", "of step 20", "Rank 0 takes longer", "disk full"})
        EXPECT_NE(text.find(part), std::string::npos) << columns << " columns lack " << part << ":\n" << text;
    }
}

TEST(Picture, IsAsciiWhereTheLocaleIs) {
  const std::string text = text_of(view_of(test::whole_status()), 60, Characters::ascii);
  EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return c > 0; })) << text;
}

TEST(Picture, OfAStatusThatKnowsNothingHasNoNumbers) {
  WatchStatus status = status_of_process("run");
  status.run.emplace();
  const std::string text = text_of(view_of(status), 80, Characters::ascii);
  EXPECT_EQ(text.find("nan"), std::string::npos) << text;
}

TEST(Picture, ControlsOfTheTerminalInAFileAreShownAsText) {
  WatchStatus status = test::whole_status();
  status.run->problem = "\x1b[2J gone";
  EXPECT_EQ(text_of(view_of(status), 80, Characters::braille).find('\x1b'), std::string::npos);
}

TEST(Picture, SaysHowItEnded) {
  WatchStatus status = test::whole_status();
  EXPECT_NE(line_of(view_of(status, Liveness::gone)).find("ended without finishing: process"), std::string::npos);
  EXPECT_NE(line_of(view_of(status, Liveness::silent)).find("no news for"), std::string::npos);
  status.state = "failed";
  EXPECT_EQ(picture_of(view_of(status, Liveness::ended), {}).front().tone, Tone::bad);
}

TEST(Picture, OfAShareHasARowForEachTask) {
  WatchStatus status = status_of_process("share");
  status.updated = status.started;
  status.share.emplace().tasks = {{"vision", "training", "", 0, 2, "0-1", 10, 90, 0.1, 8}, {"text", "waiting", ""}};
  status.share->changes = {{1.5, "vision", 0, 2, 0.25, 0.5, "is to be measured"}};
  OutputView view = view_of(status);
  view.tasks["vision"] = *test::whole_status().run;
  const std::string text = text_of(view, 100, Characters::braille);
  for (const char* part : {"vision       training      2          30/120", "text         waiting", "ranks 0-1",
                           "vision 0 -> 2 ranks; is to be measured", "vision: disk full"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

}  // namespace
}  // namespace multicard
