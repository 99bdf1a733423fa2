// Ids and texts of Hugging Face's tokenizers library and of tiktoken (tests/data/tokenizers/README.md).

#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "Data.hpp"
#include "text/prompts/PromptTemplate.hpp"
#include "text/tokenizer/StreamDecoder.hpp"
#include "text/tokenizer/Tokenizer.hpp"

namespace multicard {
namespace {

using nlohmann::json;
using Ids = std::vector<TokenId>;

/// The text that arrives token by token.
std::string streamed(const std::shared_ptr<const Tokenizer>& tokenizer, const Ids& ids) {
  StreamDecoder decoder(tokenizer, DecodeSpecial::keep);
  std::string text;
  for (const TokenId id : ids)
    text += decoder.next(id);
  return text + decoder.finish();
}

class Library : public testing::TestWithParam<const char*> {};

TEST_P(Library, GivesTheSameIdsAndTexts) {
  const json oracle = read_oracle(GetParam());
  const auto tokenizer = Tokenizer::load(token_data(GetParam()));
  EXPECT_EQ(tokenizer->sha256(), oracle["about"]["tokenizer_json_sha256"]);
  EXPECT_EQ(tokenizer->vocabulary_size(), oracle["about"]["vocab_size"]);
  ASSERT_GT(oracle["cases"].size(), 100u);
  for (const json& one : oracle["cases"]) {
    const std::string text = one["text"];
    SCOPED_TRACE(one["text"].dump());
    EXPECT_EQ(tokenizer->encode(text, SpecialTokens::leave_out), one["ids"].get<Ids>());
    EXPECT_EQ(tokenizer->encode(text, SpecialTokens::add), one["ids_with_special"].get<Ids>());
    EXPECT_EQ(tokenizer->decode(one["ids"].get<Ids>(), DecodeSpecial::keep), one["decode"]);
    EXPECT_EQ(tokenizer->decode(one["ids_with_special"].get<Ids>(), DecodeSpecial::skip), one["decode_skip_special"]);
    EXPECT_EQ(streamed(tokenizer, one["ids"]), one["decode"]);
  }
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, Library, testing::Values("gpt2", "smollm2", "tinystories"));

TEST(Tiktoken, GivesTheSameIdsAndTexts) {
  const json oracle = read_oracle("tiktoken_small");
  const auto tokenizer = Tokenizer::load(token_data("tiny/tiktoken_small.model"));
  EXPECT_EQ(tokenizer->sha256(), oracle["about"]["file_sha256"]);
  EXPECT_EQ(tokenizer->vocabulary_size(), 2000);
  for (const json& one : oracle["cases"]) {
    SCOPED_TRACE(one["text"].dump());
    const Ids ids = one["ids"];
    EXPECT_EQ(tokenizer->encode(one["text"].get<std::string>(), SpecialTokens::add), ids);
    EXPECT_EQ(tokenizer->decode(ids, DecodeSpecial::keep), one["decode"]);
  }
}

TEST(Chat, IsRenderedAsByTheChatTemplate) {
  const auto tokenizer = Tokenizer::load(token_data("smollm2"));
  const PromptTemplate chat = PromptTemplate::named("smollm2");
  const auto check = [&](const std::vector<Message>& messages, Turn end, const json& expected) {
    const std::vector<TextPiece> pieces = chat.conversation(messages, end);
    std::string text;
    for (const TextPiece& piece : pieces)
      text += piece.text;
    EXPECT_EQ(text, expected["text"]);
    EXPECT_EQ(encode_pieces(*tokenizer, pieces).ids, expected["ids"].get<Ids>()) << text;
  };
  const json oracle = read_oracle("smollm2_chat");
  for (const json& one : oracle["conversations"]) {
    std::vector<Message> messages;
    for (const json& message : one["messages"])
      messages.push_back({message["role"], message["content"]});
    check(messages, Turn::closed, one["plain"]);
    check(messages, Turn::open, one["with_generation_prompt"]);
  }
}

}  // namespace
}  // namespace multicard
