#include "text/prompts/TurnEnds.hpp"

#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(TurnEnds, AreWhatFollowsEveryAnswer) {
  const TurnEnds chatml = find_turn_ends(
      {"<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n", "<|im_end|>\n", "<|im_end|>\n<|im_start|>user\n"},
      "<|im_end|>");
  EXPECT_EQ(chatml.last, "<|im_end|>");
  EXPECT_EQ(chatml.inner, "<|im_end|>");
  const TurnEnds words = find_turn_ends({"USER: ", " ASSISTANT: ", " END_TURN</s>", " END_TURN USER: "}, "</s>");
  EXPECT_EQ(words.last, "END_TURN");
}

TEST(TurnEnds, DoNotHoldAnEosThatEndsTheConversation) {
  const TurnEnds ends = find_turn_ends(
      {"<|user|>\n", "<|end|>\n<|assistant|>\n", "<|end|>\n<|endoftext|>", "<|end|>\n<|user|>\n"}, "<|endoftext|>");
  EXPECT_EQ(ends.last, "<|end|>");
  EXPECT_EQ(ends.inner, "<|end|>");
}

TEST(TurnEnds, AreNeverTheCommonBeginningOfTwoMarkers) {
  for (const char* eos : {"", "<|return|>", "<|endoftext|>"}) {
    const TurnEnds ends = find_turn_ends({"<|start|>user<|message|>", "<|end|><|start|>assistant<|message|>",
                                          "<|return|>", "<|end|><|start|>user<|message|>"},
                                         eos);
    EXPECT_EQ(ends.last, "<|return|>") << eos;
    EXPECT_EQ(ends.inner, "<|end|>") << eos;
  }
  const TurnEnds squares =
      find_turn_ends({"[system]s[/turn][user]", "[/turn][bot]", "[/talk]\n", "[/turn][user]"}, "[/talk]");
  EXPECT_EQ(squares.last, "[/talk]");
  EXPECT_EQ(squares.inner, "[/turn]");
}

TEST(TurnEnds, AreNotTheHeaderOfTheNextQuestion) {
  const TurnEnds ends = find_turn_ends({"<|user|>\n", "\n<|assistant|>\n", "</s>", "\n<|user|>\n"}, "</s>");
  EXPECT_EQ(ends.last, "");
  EXPECT_EQ(ends.inner, "");
  const TurnEnds hashes = find_turn_ends({"###USER: ", "###BOT: ", "###END", "###USER: "}, "");
  EXPECT_EQ(hashes.inner, "");
  for (const char* beginning : {"<|start|>system\n\n<|start|>user\n", "<s><|start|>system\n\n<|start|>user\n"})
    EXPECT_EQ(find_turn_ends({beginning, "\n<|start|>bot\n", "\n\n", "\n\n<|start|>user\n"}, "").inner, "")
        << beginning;
}

}  // namespace
}  // namespace multicard
