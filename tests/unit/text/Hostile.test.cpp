// Files and texts that are damaged or meant to hurt: a clear error or the right ids, never a crash or a long wait.

#include <random>

#include <gtest/gtest.h>

#include "Data.hpp"
#include "base/Error.hpp"
#include "base/Utf8.hpp"
#include "text/tokenizer/StreamDecoder.hpp"
#include "text/tokenizer/Tokenizer.hpp"

namespace multicard {
namespace {

using nlohmann::json;
using Ids = std::vector<TokenId>;
constexpr std::size_t kLong = 1 << 20;

const Tokenizer& gpt2() {
  static const auto tokenizer = Tokenizer::load(token_data("gpt2"));
  return *tokenizer;
}

json small_file() {
  const json oracle = read_oracle("steps");
  return whole_file(oracle, oracle["tokenizers"][0]);
}

TEST(HostileText, LongWordsAreNotQuadratic) {  // else this test would take hours
  std::string letters(kLong, ' ');
  std::mt19937_64 random(1);
  for (char& letter : letters)
    letter = static_cast<char>('a' + random() % 26);
  const std::vector<std::string> texts{letters,
                                       std::string(kLong, 'a'),
                                       std::string(kLong, ' ') + "x",
                                       std::string(kLong, '\0'),
                                       std::string(kLong, '\n'),
                                       std::string(kLong, '<')};
  for (const char* name : {"gpt2", "tiny/tokenizer.json", "tinystories"}) {
    const auto tokenizer = Tokenizer::load(token_data(name));
    for (const std::string& text : texts) {
      const Ids ids = tokenizer->encode(text, SpecialTokens::leave_out);
      if (std::string(name) != "tinystories") {
        EXPECT_EQ(tokenizer->decode(ids, DecodeSpecial::keep), text) << name;
      }
    }
  }
}

TEST(HostileText, LongWordsEqualTheirMergingByHand) {
  // Of 49 letters and more a heap finds the pairs, of fewer a search: both must agree on repeated text.
  for (const std::string unit : {"a", "ab", "the", "ing"}) {
    std::string text;
    while (text.size() < 40)
      text += unit;
    Ids naive = merged_by_hand(small_file(), text + text);
    EXPECT_EQ(load_json(small_file())->encode(text + text, SpecialTokens::leave_out), naive) << unit;
  }
}

TEST(HostileText, BrokenCharactersBecomeReplacements) {
  const auto same = [](std::string_view broken, std::string_view repaired) {
    EXPECT_EQ(gpt2().encode(broken, SpecialTokens::add), gpt2().encode(repaired, SpecialTokens::add)) << repaired;
  };
  same("a\xFFz", "a\uFFFDz");
  same("\xE4\xB8", "\uFFFD");
  same("\xE4\xB8z\xAD", "\uFFFDz\uFFFD");
  same("\xF0\x9F\x98", "\uFFFD");
  same("\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD");
  same("\xC0\x80", "\uFFFD\uFFFD");
  same("\xF4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD");
}

TEST(HostileText, RandomBytesRoundTripAsTheirRepair) {
  std::mt19937_64 random(7);
  for (const char* name : {"gpt2", "smollm2", "tiny/tokenizer.json", "tiny/tiktoken_small.model", "tinystories"}) {
    const auto tokenizer = Tokenizer::load(token_data(name));
    for (int i = 0; i < 300; ++i) {
      std::string text(random() % 80, '\0');
      const unsigned range = i % 3 == 0 ? 256 : i % 3 == 1 ? 128 : 4;
      for (char& byte : text)
        byte = static_cast<char>(range == 4 ? "\xE2\x96\x81 "[random() % 4] : random() % range);
      const Ids ids = tokenizer->encode(text, SpecialTokens::leave_out);
      StreamDecoder stream(tokenizer, DecodeSpecial::keep);
      std::string streamed;
      for (const TokenId id : ids)
        streamed += stream.next(id);
      streamed += stream.finish();
      const std::string decoded = tokenizer->decode(ids, DecodeSpecial::keep);
      if (std::string(name) == "tinystories") continue;  // it has unknown characters
      EXPECT_EQ(streamed, decoded);
      if (std::string(name) == "smollm2") continue;  // 21 bytes have no token
      EXPECT_EQ(decoded, repaired_utf8(text));
    }
  }
}

TEST(HostileText, UnknownIdsGiveNoText) {
  EXPECT_EQ(gpt2().decode(Ids{50257, 4294967295u, 64}, DecodeSpecial::keep), "a");
  EXPECT_FALSE(gpt2().is_special(4294967295u));
}

std::string refusal_of_text(const std::string& text) {
  try {
    load_text(text);
  } catch (const DataError& error) {
    return error.what();
  }
  return "none";
}

std::string refusal(const json& file) {
  return refusal_of_text(file.dump());
}

TEST(HostileFile, IsRefusedWithAReason) {
  const auto expect = [](const std::string& message, const char* part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect(refusal_of_text(""), "empty");
  expect(refusal_of_text("{"), "not JSON");
  expect(refusal_of_text("{\"model\":" + std::string(1 << 20, '[')), "nested");
  expect(refusal_of_text("{}"), "no \"model\"");
  expect(refusal_of_text("\n\x0E\n\x05<unk>"), "tokenizer.json");
  expect(refusal_of_text("AA== 0\nAQ== 0\n"), "line 2");
  expect(refusal_of_text("AA== 0\nAQ== 99999999999\n"), "line 2");
  expect(refusal_of_text("AA== 0\n"), "byte 1");

  const auto changed = [](const auto& change) {
    json file = small_file();
    change(file);
    return refusal(file);
  };
  for (const json& id : {json(-1), json(1.5), json("7"), json(4294967296), json(4000000000u), json(nullptr)})
    expect(changed([&](json& file) { file["model"]["vocab"]["zz"] = id; }), "zz");
  expect(changed([](json& file) { file["model"]["vocab"]["zz"] = file["model"]["vocab"]["a"]; }), "two tokens");
  expect(changed([](json& file) { file["model"]["vocab"] = json::array(); }), "vocab");
  expect(changed([](json& file) { file["model"]["merges"].push_back("a zzz"); }), "lacks it");
  expect(changed([](json& file) { file["model"]["merges"].push_back("abc"); }), "not two texts");
  expect(changed([](json& file) { file["model"]["merges"].push_back({"a", "b", "c"}); }), "not two texts");
  expect(changed([](json& file) { file["model"]["merges"] = 5; }), "merges");
  expect(changed([](json& file) { file["model"]["unk_token"] = "zzz"; }), "zzz");
  expect(changed([](json& file) { file["added_tokens"][0]["id"] = 4; }), "vocabulary");
  expect(changed([](json& file) { file["added_tokens"][1]["id"] = file["added_tokens"][0]["id"]; }), "id");
  expect(changed([](json& file) { file["added_tokens"][0]["content"] = std::string(2000, 'x'); }), "longer");
  expect(changed([](json& file) {
           file["post_processor"] = {{"type", "BertProcessing"}, {"sep", {"a", 1}}, {"cls", {"b", 999999}}};
         }),
         "999999");
}

/// What a change of the file makes of 50 letters, or of ids, when they are encoded and decoded.
std::string failure_of(const json& file) {
  try {
    const auto tokenizer = load_json(file);
    const Ids ids = tokenizer->encode(std::string(50, 'a'), SpecialTokens::add);
    tokenizer->decode(ids, DecodeSpecial::keep);
  } catch (const DataError& error) {
    return error.what();
  }
  return "none";
}

json repeated_step(const char* sequence, const char* list, const json& step, int count) {
  json steps = json::array();
  for (int i = 0; i < count; ++i)
    steps.push_back(step);
  return {{"type", sequence}, {list, steps}};
}

TEST(HostileFile, TextsDoNotGrowWithoutBound) {
  const auto expect = [](const json& file, const char* part) {
    const std::string message = failure_of(file);
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_NE(message.find("cannot be used as a tokenizer"), std::string::npos) << message;
  };
  const auto replace = [](const char* kind, const char* pattern, std::size_t times) {
    return json{{"type", "Replace"}, {"pattern", {{kind, pattern}}}, {"content", std::string(times, 'a')}};
  };
  const json prepend{{"type", "Prepend"}, {"prepend", std::string(200'000, 'a')}};
  const json metaspace{{"type", "Metaspace"}, {"replacement", "a"}, {"prepend_scheme", "always"}, {"split", true}};
  json file = small_file();
  for (const json& step : {replace("String", "a", 10), replace("Regex", "a", 10), prepend}) {
    file["normalizer"] = repeated_step("Sequence", "normalizers", step, 12);
    expect(file, "the normalizer makes more than");
  }
  file["normalizer"] = replace("String", "a", 100'000);
  expect(file, "the normalizer makes more than");
  file["normalizer"] = repeated_step("Sequence", "normalizers", {{"type", "NFC"}}, 129);
  expect(file, "more than 128 steps");
  file = small_file();
  file["pre_tokenizer"] = repeated_step("Sequence", "pretokenizers", metaspace, 129);
  expect(file, "more than 128 steps");
  file = small_file();
  file["decoder"] = repeated_step("Sequence", "decoders", replace("String", "a", 10), 12);
  expect(file, "the decoder makes more than");
  file["decoder"] = repeated_step("Sequence", "decoders", {{"type", "Fuse"}}, 129);
  expect(file, "more than 128 steps");
}

TEST(HostileFile, PostProcessorsAddFewTokens) {
  json file = small_file();
  const std::vector<int> ids(1000, 1);
  json pieces = json::array({{{"Sequence", {{"id", "A"}, {"type_id", 0}}}}});
  for (int i = 0; i < 5; ++i)
    pieces.push_back({{"SpecialToken", {{"id", "x"}, {"type_id", 0}}}});
  const json step{{"type", "TemplateProcessing"},
                  {"single", pieces},
                  {"pair", json::array()},
                  {"special_tokens", {{"x", {{"id", "x"}, {"ids", ids}, {"tokens", json::array({"x"})}}}}}};

  for (const json& processor : {step, json{{"type", "Sequence"}, {"processors", json::array({step})}}}) {
    file["post_processor"] = processor;
    EXPECT_NE(failure_of(file).find("adds more than 4096 tokens"), std::string::npos) << failure_of(file);
  }
}

TEST(HostileFile, GapsAndRepeatedMergesAreFine) {
  json file = small_file();
  file["model"]["vocab"]["zz"] = 100000;
  file["model"]["merges"].push_back(file["model"]["merges"][0]);
  const auto tokenizer = load_json(file);
  EXPECT_EQ(tokenizer->vocabulary_size(), 100001);
  EXPECT_EQ(tokenizer->id_of("zz"), 100000u);
  EXPECT_EQ(tokenizer->decode(Ids{5000, 100000}, DecodeSpecial::keep), "zz");
}

TEST(HostileFile, DamageAnywhereIsAnErrorOrHarmless) {
  const std::string good = small_file().dump();
  std::mt19937_64 random(3);
  int num_refused = 0;
  for (int i = 0; i < 400; ++i) {
    std::string bad = good;
    for (std::size_t j = 0; j <= random() % 3; ++j)
      bad[random() % bad.size()] = static_cast<char>(random() % 256);
    if (i % 4 == 0) bad.resize(random() % bad.size());
    try {
      load_text(bad)->encode("The quick <sep> brown fox 123", SpecialTokens::add);
    } catch (const DataError&) {
      ++num_refused;
    }
  }
  EXPECT_GT(num_refused, 100);
}

}  // namespace
}  // namespace multicard
