#include "cli/Complaint.hpp"

#include <gtest/gtest.h>

namespace multicard {
namespace {

/// What is said of these words.
UsageError complaint(std::vector<std::string> words) {
  CLI::App app("", "tool");
  app.require_subcommand(1);
  CLI::App* run = app.add_subcommand("run", "");
  run->footer("$ tool run a.yaml\n$ tool run a.yaml --most 3");
  std::string deck, dtype;
  int most = 0;
  run->add_option("deck", deck, "")->required();
  run->add_option("--dtype", dtype, "")->check(CLI::IsMember({"fp32", "bf16"}));
  run->add_option("--most", most, "")->check(CLI::Range(1, 9));
  std::reverse(words.begin(), words.end());
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error);
  }
  return UsageError("nothing");
}

TEST(Complaint, NamesWhatIsMissingAndARightCommand) {
  const UsageError error = complaint({"run"});
  EXPECT_EQ(error.problem(), "'tool run' needs DECK");
  EXPECT_EQ(error.suggestion(), "tool help run says more. Example: tool run a.yaml");
}

TEST(Complaint, SuggestsTheNearestWord) {
  EXPECT_EQ(complaint({"run", "a", "--dtype", "fp23"}).suggestion().rfind("Did you mean --dtype fp32? ", 0), 0U);
  EXPECT_EQ(complaint({"run", "a", "--dtype", "zzzzzz"}).suggestion().find("Did you mean"), std::string::npos);
}

TEST(Complaint, ChoosesTheExampleWithTheOption) {
  EXPECT_NE(complaint({"run", "a", "--most", "20"}).suggestion().find("a.yaml --most 3"), std::string::npos);
}

TEST(Complaint, NamesWordsThatAreTooMany) {
  EXPECT_EQ(complaint({"run", "a", "b"}).problem(), "unexpected word b of tool run");
}

}  // namespace
}  // namespace multicard
