// Every supported step of tokenizer.json against the tokenizers library, and that all others are refused.

#include <gtest/gtest.h>

#include "Data.hpp"
#include "base/Error.hpp"
#include "text/tokenizer/Tokenizer.hpp"

namespace multicard {
namespace {

using nlohmann::json;
using Ids = std::vector<TokenId>;

TEST(Steps, EqualTheLibrarys) {
  const json oracle = read_oracle("steps");
  ASSERT_GT(oracle["tokenizers"].size(), 40u);
  for (const json& one : oracle["tokenizers"]) {
    SCOPED_TRACE(one["name"].dump());
    const auto tokenizer = load_json(whole_file(oracle, one));
    for (const json& expected : one["cases"]) {
      SCOPED_TRACE(expected[0].dump());
      const std::string text = expected[0];
      EXPECT_EQ(tokenizer->encode(text, SpecialTokens::leave_out), expected[1].get<Ids>());
      EXPECT_EQ(tokenizer->encode(text, SpecialTokens::add), expected[2].get<Ids>());
      EXPECT_EQ(tokenizer->decode(expected[1].get<Ids>(), DecodeSpecial::keep), expected[3]);
      EXPECT_EQ(tokenizer->decode(expected[2].get<Ids>(), DecodeSpecial::skip), expected[4]);
    }
  }
}

/// A small byte-level tokenizer of the oracle.
json small_file() {
  const json oracle = read_oracle("steps");
  return whole_file(oracle, oracle["tokenizers"][0]);
}

/// The error that loading `file` ends with.
std::string refusal(const json& file) {
  try {
    load_json(file);
  } catch (const DataError& error) {
    return error.what();
  }
  return "none";
}

TEST(Steps, UnknownOnesAreNamed) {
  for (const char* key : {"normalizer", "pre_tokenizer", "post_processor", "decoder"}) {
    json file = small_file();
    file[key] = {{"type", "Surprise"}};
    EXPECT_NE(refusal(file).find("Surprise is not supported"), std::string::npos) << refusal(file);
  }
  json file = small_file();
  file["model"]["type"] = "Unigram";
  EXPECT_NE(refusal(file).find("Unigram"), std::string::npos);
  file = small_file();
  file["model"]["continuing_subword_prefix"] = "##";
  EXPECT_NE(refusal(file).find("continuing_subword_prefix"), std::string::npos);
  file = small_file();
  file["model"]["dropout"] = 0.1;
  EXPECT_NE(refusal(file).find("dropout"), std::string::npos);
}

TEST(Steps, ThatTheLibraryAppliesInItsOwnWayAreNamed) {
  json file = small_file();
  const json special = {{"id", "<s>"}, {"ids", {0}}, {"tokens", {"<s>"}}};
  const json single = {{{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}},
                       {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}};
  const json around = {{"type", "TemplateProcessing"}, {"single", single}, {"special_tokens", {{"<s>", special}}}};
  const json bytes = {{"type", "ByteLevel"}},
             bert = {{"type", "BertProcessing"}, {"cls", {"<s>", 0}}, {"sep", {"<s>", 0}}};
  const auto with = [&](const json& steps) {
    file["post_processor"] = {{"type", "Sequence"}, {"processors", steps}};
    return refusal(file);
  };
  EXPECT_EQ(with({around, bytes}), "none");
  EXPECT_EQ(with({bert, around}), "none");
  EXPECT_NE(with({around, bytes, bert}).find("BertProcessing after TemplateProcessing"), std::string::npos);
  EXPECT_NE(with({{{"type", "Sequence"}, {"processors", {around}}}, around}).find("after"), std::string::npos);
}

TEST(Steps, NoReplacementMatchesBetweenCharacters) {
  for (const char* pattern : {"^", "$", "a*", "(?<=a)", ""}) {
    json file = small_file();
    file["normalizer"] = {{"type", "Replace"}, {"pattern", {{"Regex", pattern}}}, {"content", "x"}};
    EXPECT_NE(refusal(file).find("Replace matches where there is no character"), std::string::npos) << pattern;
  }
}

TEST(Steps, AFirstSpaceNeedsABeginningThatStays) {
  json file = small_file();
  const json first = {{"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", "first"}, {"split", true}};
  const json digits = {{"type", "Digits"}, {"individual_digits", true}};
  const auto with = [&](const json& normalizer, const json& pre_tokenizer) {
    file["normalizer"] = normalizer;
    file["pre_tokenizer"] = pre_tokenizer;
    return refusal(file);
  };
  const json strip = {{"type", "Strip"}, {"strip_left", true}, {"strip_right", false}}, nfkd = {{"type", "NFKD"}};
  const json sequence = {{"type", "Sequence"}, {"pretokenizers", {digits, first}}};
  EXPECT_EQ(with(nfkd, first), "none");
  EXPECT_EQ(with(nullptr, sequence), "none");
  EXPECT_NE(with(strip, first).find("Metaspace with the prepend_scheme first"), std::string::npos);
  EXPECT_NE(with({{"type", "Sequence"}, {"normalizers", {nfkd, strip}}}, first).find("Strip"), std::string::npos);
  EXPECT_NE(with(nfkd, sequence).find("Digits"), std::string::npos);
}

json with_added(const json& tokens, const json& normalizer = nullptr) {
  json file = small_file();
  file["added_tokens"] = tokens;
  file["normalizer"] = normalizer;
  return file;
}

TEST(Steps, AWhiteSpaceTokenTakesTheSpaceAroundItOnce) {
  const TokenId next = small_file()["model"]["vocab"].size();
  const auto tokenizer = load_json(with_added({{{"content", "\n"}, {"id", next}, {"lstrip", true}, {"rstrip", true}}}));
  EXPECT_EQ(tokenizer->encode("\n\n \n", SpecialTokens::leave_out), (Ids{next}));
}

TEST(Steps, AnAddedTokenOfTheVocabularyIsDecodedAsItsText) {
  const TokenId byte = small_file()["model"]["vocab"]["\u0120"];  // a space among the bytes
  const auto tokenizer =
      load_json(with_added({{{"content", "\u0120"}, {"id", byte}, {"normalized", true}}}, {{"type", "NFD"}}));
  EXPECT_EQ(tokenizer->decode(Ids{byte}, DecodeSpecial::keep), "G\u0307");
}

TEST(Steps, AnAddedTokenWithoutTextIsLeftOut) {
  const TokenId next = small_file()["model"]["vocab"].size();
  const auto tokenizer = load_json(with_added({{{"content", ""}, {"id", next}}}));
  EXPECT_EQ(tokenizer->vocabulary_size(), static_cast<std::int64_t>(next));
}

std::string warning_of(const json& file) {
  testing::internal::CaptureStderr();
  load_json(file);
  return testing::internal::GetCapturedStderr();
}

TEST(Steps, IdsThatTheLibraryWouldNotGiveAreWarnedOf) {
  json file = small_file();
  file["added_tokens"] = json::array();
  const std::size_t next = file["model"]["vocab"].size();
  const auto add = [&](const char* content, std::size_t id) {
    file["added_tokens"].push_back({{"content", content}, {"id", id}});
  };
  add("<s>", file["model"]["vocab"]["<s>"]);
  add("<first>", next);
  add("<second>", next + 1);
  EXPECT_EQ(warning_of(file), "");
  add("<third>", next + 5);
  const std::string warning = warning_of(file);
  EXPECT_NE(warning.find("\"<third>\" has the id " + std::to_string(next + 5)), std::string::npos) << warning;
  EXPECT_NE(warning.find("gives it " + std::to_string(next + 2)), std::string::npos) << warning;
}

json with_pattern(const std::string& pattern) {
  json file = small_file();
  file["pre_tokenizer"] = {
      {"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}};
  return file;
}

TEST(Steps, PatternsThatCannotBeTranslatedAreRefused) {
  for (const char* pattern : {"(", "\\X", "(a)\\1", "a{2,1}", "\\p{Klingon}"})
    EXPECT_NE(refusal(with_pattern(pattern)).find("cannot be used"), std::string::npos) << pattern;
  EXPECT_EQ(refusal(with_pattern("[[:alpha:]]+|[\\]\\[]|[]a]")), "none");
}

TEST(Steps, APatternThatNeverEndsGivesUp) {
  const auto tokenizer = load_json(with_pattern("(?:(?:x+x+)+y)|z"));
  EXPECT_THROW(tokenizer->encode(std::string(5000, 'x'), SpecialTokens::leave_out), DataError);
}

}  // namespace
}  // namespace multicard
