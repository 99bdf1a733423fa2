// Which tokens are marked for a part of a text.

#include <gtest/gtest.h>

#include "Data.hpp"
#include "base/Utf8.hpp"
#include "text/prompts/PromptTemplate.hpp"

namespace multicard {
namespace {

using nlohmann::json;

const std::string kText = "Hello  world, naïve \u4e2d\u6587 \U0001F600!\n\n 1234 x<|im_end|>\nend ";

/// For every beginning of the text the tokens that it covers, counted; they must be the first ones.
std::vector<std::size_t> covered(const Tokenizer& tokenizer, const std::string& text) {
  std::vector<std::size_t> counts;
  const auto plain = tokenizer.encode(text, SpecialTokens::leave_out);
  for (std::size_t end = 0; end <= text.size(); ++end) {
    const TextRange range{0, end};
    std::vector<std::uint8_t> marks;
    EXPECT_EQ(tokenizer.encode(text, {&range, 1}, marks), plain);
    const auto count = static_cast<std::size_t>(std::count(marks.begin(), marks.end(), 1));
    EXPECT_EQ(marks.size(), plain.size());
    EXPECT_EQ(std::find(marks.begin(), marks.end(), 0) - marks.begin(), static_cast<std::ptrdiff_t>(count)) << end;
    counts.push_back(count);
  }
  return counts;
}

TEST(TokenAlignment, ATokenBelongsToEveryPartThatTouchesIt) {
  for (const char* name : {"smollm2", "gpt2", "tiny/tokenizer.json", "tiny/tiny_bpe_tokenizer.json"}) {
    const auto tokenizer = Tokenizer::load(token_data(name));
    const auto ids = tokenizer->encode(kText, SpecialTokens::leave_out);
    const std::vector<std::size_t> counts = covered(*tokenizer, kText);
    for (std::size_t count = 1; count < ids.size(); ++count) {
      const std::string before = tokenizer->decode(std::span(ids).first(count), DecodeSpecial::keep);
      if (!kText.starts_with(before)) continue;  // it ends within a character
      EXPECT_EQ(counts[before.size()], count) << name << ": " << before;
      if (before.size() < kText.size()) {
        EXPECT_GT(counts[before.size() + 1], count) << name << ": " << before;
      }
    }
    EXPECT_EQ(counts.back(), ids.size()) << name;
  }
}

TEST(TokenAlignment, MarksThatNormalisingAddsAreCounted) {
  const auto tokenizer = Tokenizer::load(token_data("tinystories"));  // "▁" in front and for every space
  const std::string text = "Once upon  a time";
  const auto ids = tokenizer->encode(text, SpecialTokens::leave_out);
  const std::vector<std::size_t> counts = covered(*tokenizer, text);
  for (std::size_t count = 1; count < ids.size(); ++count) {
    std::string before = tokenizer->decode(std::span(ids).first(count), DecodeSpecial::keep);
    if (!text.starts_with(before)) before.erase(0, 1);
    ASSERT_TRUE(text.starts_with(before)) << before;
    if (before.empty()) continue;  // the mark in front alone
    EXPECT_EQ(counts[before.size()], count) << before;
  }
}

TEST(TokenAlignment, NormalisedCharactersCountWhereTheyStand) {
  json file = read_oracle("steps");
  file = whole_file(file, file["tokenizers"][0]);
  file["normalizer"] = {{"type", "NFC"}};
  const auto tokenizer = load_json(file);
  const std::string text = "ae\u0301b";  // three characters that become two, or four tokens

  const TextRange last{text.size() - 1, text.size()};
  std::vector<std::uint8_t> marks;
  const auto ids = tokenizer->encode(text, {&last, 1}, marks);

  EXPECT_EQ(std::count(marks.begin(), marks.end(), 1), 1);
  EXPECT_EQ(marks.back(), 1);
  EXPECT_EQ(ids, tokenizer->encode(text, SpecialTokens::leave_out));
}

TEST(TokenAlignment, UnknownCharactersAreNotQuadratic) {  // else this test would take minutes
  json file = read_oracle("steps");
  file = whole_file(file, file["tokenizers"][0]);
  for (const char* part : {"normalizer", "pre_tokenizer", "post_processor", "decoder"})
    file[part] = nullptr;
  file["model"] = {{"type", "BPE"}, {"vocab", {{"<unk>", 0}, {"a", 1}, {"b", 2}}}, {"merges", json::array()}};
  file["model"]["unk_token"] = "<unk>";
  file["added_tokens"] = json::array();
  const auto tokenizer = load_json(file);
  std::string text;
  std::vector<TextRange> ranges;
  for (std::size_t i = 0; i < 10000; ++i) {  // 1 MB, and a range for every hundred characters
    for (int character = 0; character < 33; ++character)
      text += "\u4e2d";
    text += "a";
    ranges.push_back({text.size() - 1, text.size()});
  }
  std::vector<std::uint8_t> marks;

  const auto ids = tokenizer->encode(text, ranges, marks);

  ASSERT_EQ(ids.size(), 34u * 10000);
  ASSERT_EQ(marks.size(), ids.size());
  for (std::size_t i = 0; i < marks.size(); ++i)
    ASSERT_EQ(marks[i], i % 34 == 33 ? 1 : 0) << i;
}

TEST(EncodePieces, TokensAcrossABorderAreTargets) {
  const auto tokenizer = Tokenizer::load(token_data("smollm2"));
  const std::vector<TextPiece> pieces{{"Say: He", false, false, false, true}, {"llo you", true, false, true}};

  const EncodedText row = encode_pieces(*tokenizer, pieces);

  EXPECT_EQ(row.ids, tokenizer->encode("Say: Hello you", SpecialTokens::leave_out));
  ASSERT_EQ(row.ids.size(), 4u);  // "Say", ":", " Hello", " you"
  EXPECT_EQ(row.loss_mask, (std::vector<std::uint8_t>{0, 0, 1, 1}));
}

}  // namespace
}  // namespace multicard
