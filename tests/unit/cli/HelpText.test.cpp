#include "cli/HelpText.hpp"

#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(HelpText, ShowsUsageOptionsAndExamples) {
  const OptionHelp deck{{}, "DECK", {}, "Deck", "", true}, most{{"--most"}, "N", {}, "At most", "8"},
      long_one{{"--a-name-that-is-long"}, "VALUE", {}, "Text", ""};
  const CommandHelp command{"tool run", "Trains", {"tool run a.yaml"}, "", {deck}, {most, long_one}, {}};

  EXPECT_EQ(help_text(command),
            "usage: tool run DECK [OPTIONS]\n\n"
            "Trains.\n\n"
            "arguments:\n"
            "  DECK                      Deck\n\n"
            "options:\n"
            "  --most N                  At most; default 8\n"
            "  --a-name-that-is-long VALUE\n"
            "                            Text\n\n"
            "example:\n"
            "  tool run a.yaml\n");
}

TEST(HelpText, BreaksLongExamplesBeforeOptions) {
  const std::string tail = " --input " + std::string(40, 'x') + " --output " + std::string(30, 'y');
  const CommandHelp command{"tool", "Trains", {"tool 'a - b'" + tail}, "", {}, {}, {}};

  EXPECT_NE(help_text(command).find("\n  tool 'a - b' --input " + std::string(40, 'x') + " \\\n      --output yyy"),
            std::string::npos)
      << help_text(command);
}

}  // namespace
}  // namespace multicard
