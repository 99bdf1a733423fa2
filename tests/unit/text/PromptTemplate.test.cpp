#include "text/prompts/PromptTemplate.hpp"

#include <gtest/gtest.h>

#include "Data.hpp"
#include "base/Error.hpp"

namespace multicard {
namespace {

using Ids = std::vector<TokenId>;

std::string text_of(const std::vector<TextPiece>& pieces) {
  std::string text;
  for (const TextPiece& piece : pieces)
    text += piece.text;
  return text;
}

/// The targets, each in brackets, "+eos" after one that needs it.
std::string targets_of(const std::vector<TextPiece>& pieces) {
  std::string text;
  for (const TextPiece& piece : pieces)
    if (piece.is_target) text += "[" + piece.text + (piece.ends_with_eos ? "+eos]" : "]");
  return text;
}

const std::vector<Message> kTwoTurns{{"user", " Hi "}, {"assistant", "Hello."}, {"user", "Bye"}, {"assistant", "\n"}};

TEST(PromptTemplate, AlpacaIsTheOneOfThePaper) {
  const PromptTemplate alpaca = PromptTemplate::named("alpaca");
  EXPECT_EQ(text_of(alpaca.instruction("Add.", "", "2")),
            "Below is an instruction that describes a task. Write a response that appropriately completes the "
            "request.\n\n### Instruction:\nAdd.\n\n### Response:\n2");
  const auto with_input = alpaca.instruction("Add.", "1 1", "2");
  EXPECT_EQ(text_of(with_input),
            "Below is an instruction that describes a task, paired with an input that provides further context. Write "
            "a response that appropriately completes the request.\n\n### Instruction:\nAdd.\n\n### Input:\n1 1\n\n"
            "### Response:\n2");
  ASSERT_EQ(with_input.size(), 2u);  // prompt and completion, each tokenised as a whole
  EXPECT_EQ(targets_of(with_input), "[2+eos]");
  EXPECT_TRUE(alpaca.completion_needs_eos());
  EXPECT_EQ(alpaca.ends_of_turn(), std::vector<std::string>{});
  EXPECT_EQ(text_of(alpaca.instruction("Add.", "", "2", "Be brief.")),
            "Be brief.\n\n### Instruction:\nAdd.\n\n### Response:\n2");
}

TEST(PromptTemplate, Llama3TrimsAndEndsTurns) {
  const PromptTemplate llama3 = PromptTemplate::named("llama3");
  const auto pieces = llama3.conversation(kTwoTurns, Turn::open);
  EXPECT_EQ(text_of(pieces),
            "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\nHello.<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\nBye<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n");
  EXPECT_EQ(targets_of(pieces), "[Hello.<|eot_id|>][<|eot_id|>]");
  EXPECT_FALSE(llama3.completion_needs_eos());
  EXPECT_EQ(llama3.ends_of_turn(), std::vector<std::string>{"<|eot_id|>"});
  EXPECT_EQ(text_of(PromptTemplate::named("llama3.1").conversation({{Message{"system", " Be brief. "}}}, Turn::closed)),
            "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\n"
            "Today Date: 26 Jul 2024\n\nBe brief.<|eot_id|>");
}

TEST(PromptTemplate, ChatmlKeepsContentsAndTrainsEveryAnswer) {
  const auto pieces = PromptTemplate::named("chatml").conversation(kTwoTurns, Turn::closed);
  EXPECT_EQ(text_of(pieces),
            "<|im_start|>user\n Hi <|im_end|>\n<|im_start|>assistant\nHello.<|im_end|>\n"
            "<|im_start|>user\nBye<|im_end|>\n<|im_start|>assistant\n\n<|im_end|>\n");
  EXPECT_EQ(targets_of(pieces), "[Hello.<|im_end|>][\n<|im_end|>]");
  EXPECT_EQ(text_of(PromptTemplate::named("qwen2").instruction("Add.", "1 1", "2")),
            "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\nAdd.\n1 1<|im_end|>\n"
            "<|im_start|>assistant\n2<|im_end|>\n");
}

TEST(PromptTemplate, PlainJoinsLines) {
  const PromptTemplate plain = PromptTemplate::named("plain");
  EXPECT_EQ(text_of(plain.instruction("Add.", "1 1", "2")), "Add.\n1 1\n2");
  EXPECT_EQ(targets_of(plain.conversation(kTwoTurns, Turn::closed)), "[Hello.+eos][\n+eos]");
}

TEST(PromptTemplate, RefusesWhatItDoesNotKnow) {
  try {
    PromptTemplate::named("alpacca");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("llama3"), std::string::npos) << error.what();
  }
  EXPECT_THROW(PromptTemplate::named("alpaca").conversation({{Message{"tool", "x"}}}, Turn::closed), DataError);
}

TEST(EncodePieces, PutsBosFirstAndEosAfterTheAnswer) {
  const auto tokenizer = Tokenizer::load(token_data("tinystories"));  // adds BOS 1, EOS is 2
  ASSERT_TRUE(tokenizer->adds_bos());
  const EncodedText row = encode_pieces(*tokenizer, PromptTemplate::named("plain").instruction("Hi", "", "Lily"));
  Ids expected = tokenizer->encode("Hi\n", SpecialTokens::add);
  const std::size_t num_prompt = expected.size();
  for (const TokenId id : tokenizer->encode("Lily", SpecialTokens::leave_out))
    expected.push_back(id);
  expected.push_back(2);
  EXPECT_EQ(row.ids, expected);
  ASSERT_EQ(row.loss_mask.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(row.loss_mask[i], i >= num_prompt ? 1 : 0) << i;
}

TEST(EncodePieces, PutsBosOnceWhenTheTemplateWritesIt) {
  const std::string folder = testing::TempDir() + "multicard-llama3-folder";
  std::filesystem::create_directories(folder);
  write_file(folder + "/tokenizer.model", read_file(token_data("tiny/tiktoken_small.model")));
  write_file(folder + "/generation_config.json", "{\"eos_token_id\": [2001, 2008, 2009]}");
  const auto tokenizer = Tokenizer::load(folder);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(tokenizer->vocabulary_size(), 2256);
  EXPECT_EQ(tokenizer->id_of("<|python_tag|>"), 2010u);
  EXPECT_EQ(tokenizer->bos(), 2000u);
  EXPECT_EQ(tokenizer->eos(), 2001u);
  EXPECT_EQ(tokenizer->end_ids(), (Ids{2001, 2008, 2009}));
  ASSERT_TRUE(tokenizer->adds_bos());
  const EncodedText row =
      encode_pieces(*tokenizer, PromptTemplate::named("llama3").conversation({{Message{"user", "Hi"}}}, Turn::open));
  EXPECT_EQ(row.ids[0], 2000u);
  EXPECT_EQ(row.ids[1], 2006u);
  EXPECT_EQ(encode_pieces(*tokenizer, {}).ids, Ids{2000});
}

TEST(EncodePieces, NeedsAnEos) {
  const auto tokenizer = Tokenizer::load(token_data("tiny/tiktoken_small.model"));
  EXPECT_FALSE(tokenizer->eos());
  EXPECT_THROW(encode_pieces(*tokenizer, PromptTemplate::named("alpaca").instruction("a", "", "b")), DataError);
}

}  // namespace
}  // namespace multicard
