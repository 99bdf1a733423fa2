#include "cli/ManPage.hpp"

#include <gtest/gtest.h>

#include "base/Error.hpp"

namespace multicard {
namespace {

TEST(ManPage, EscapesWhatRoffWouldRead) {
  ManPage page{"tool-run", 1, "trains", {{"options", {}, {{"--most N", ".5 or 'x' or \\n"}}, {}}}, {"tool(1)"}};

  EXPECT_EQ(roff(page, "tool 1.0"),
            ".TH TOOL\\-RUN 1 \"\" \"tool 1.0\" \"User commands\"\n"
            ".SH NAME\ntool\\-run \\- trains\n"
            ".SH OPTIONS\n.TP\n\\fB\\-\\-most N\\fR\n\\&.5 or \\(aqx\\(aq or \\en\n"
            ".SH SEE ALSO\ntool(1)\n");
}

TEST(ManPage, OfEachCommandRefersToTheOthers) {
  CommandHelp program{"tool", "Does things.", {}, "", {}, {}, {{"tool run", "Trains", {}, "", {}, {}, {}}}};

  const std::vector<ManPage> pages = man_pages(program, {"other(1)"});

  ASSERT_EQ(pages.size(), 2U);
  EXPECT_EQ(pages[1].file_name(), "tool-run.1");
  EXPECT_NE(roff(pages[0], "").find("tool\\-run(1)"), std::string::npos);
  EXPECT_EQ(roff(pages[1], "").find("SEE ALSO\ntool\\-run"), std::string::npos);
}

TEST(ManPage, ThatCannotBeWrittenIsAnError) {
  EXPECT_THROW(write_pages({ManPage{"tool", 1, "", {}, {}}}, "", "/proc/none"), DataError);
}

}  // namespace
}  // namespace multicard
