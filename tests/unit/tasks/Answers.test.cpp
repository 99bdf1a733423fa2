// What ends an answer: the ends of the folder's files and of the template that was learnt.
#include "tasks/Answers.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "support/test_world.hpp"
#include "unit/data/test_tokenizer.hpp"

namespace multicard {
namespace {

bool holds(const std::vector<std::int64_t>& ids, std::int64_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

TEST(Prompter, EndsAnAnswerWhereTheTemplateEndsATurn) {
  const test::ScratchFolder scratch;
  const std::string folder = scratch / "model";
  test::write_byte_tokenizer(folder);

  const auto chat = Prompter(folder, "chatml").end_ids(), alpaca = Prompter(folder, "alpaca").end_ids();

  EXPECT_TRUE(holds(chat, test::kImEnd));
  EXPECT_FALSE(holds(alpaca, test::kImEnd));
  for (const auto& ends : {chat, alpaca})
    EXPECT_TRUE(holds(ends, test::kEos));
}

TEST(Prompter, LeavesWhatTheModelIsToWriteOpen) {
  const test::ScratchFolder scratch;
  const std::string folder = scratch / "model";
  test::write_byte_tokenizer(folder);
  const Prompter prompter(folder, "chatml");

  const std::vector<TokenId> prompt = prompter.encode("Hi");

  EXPECT_EQ(prompt.front(), test::kBos);
  EXPECT_EQ(prompter.tokenizer()->decode(prompt, DecodeSpecial::keep),
            "<s><|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(prompter.encode_raw("Hi"), (std::vector<TokenId>{test::kBos, 'H', 'i'}));
}

}  // namespace
}  // namespace multicard
