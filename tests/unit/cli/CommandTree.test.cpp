#include "cli/CommandTree.hpp"

#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(CommandTree, SaysWhatOptionsTake) {
  CLI::App app("Does things.", "tool");
  app.footer("$ tool a.yaml\nA note.");
  std::string deck, dtype, memory;
  std::vector<std::string> files;
  double share = 0.5;
  bool is_quiet = false;
  app.add_option("deck", deck, "Deck")->required();
  app.add_option("--dtype", dtype, "Type")->check(CLI::IsMember({"fp32", "bf16"}));
  app.add_option("-m,--most-memory", memory, "Memory");
  app.add_option("--share", share, "Share")->capture_default_str();
  app.add_option("--in", files, "Files")->required();
  app.add_flag("--quiet", is_quiet, "Quiet");

  const CommandHelp command = described(app);

  EXPECT_EQ(command.usage(), "tool DECK --in IN [OPTIONS]");
  EXPECT_EQ(command.examples, std::vector<std::string>{"tool a.yaml"});
  EXPECT_EQ(command.note, "A note.");
  std::vector<std::string> usages;
  for (const OptionHelp& option : command.options)
    usages.push_back(option.usage());
  EXPECT_EQ(usages, (std::vector<std::string>{"-h,--help", "--dtype fp32|bf16", "-m,--most-memory MOST_MEMORY",
                                              "--share X", "--in IN ...", "--quiet"}));
  EXPECT_EQ(command.options[1].words, (std::vector<std::string>{"fp32", "bf16"}));
  EXPECT_EQ(command.options[3].fallback, "0.5");
}

TEST(CommandTree, ListsCommandsWithTheirPaths) {
  CLI::App app("", "tool");
  app.add_subcommand("prepare", "")->add_subcommand("text", "");
  const CommandHelp command = described(app);

  std::vector<std::string> paths;
  for (const CommandHelp* one : all_commands(command))
    paths.push_back(one->path);
  EXPECT_EQ(paths, (std::vector<std::string>{"tool", "tool prepare", "tool prepare text"}));
  EXPECT_EQ(command.usage(), "tool COMMAND [OPTIONS]");
}

}  // namespace
}  // namespace multicard
