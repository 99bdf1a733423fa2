// Every type of data set and every layout of it against texts written by hand.
#include "prepare/records/RecordEncoder.hpp"

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "base/SplitMix64.hpp"
#include "io/Bytes.hpp"
#include "unit/prepare/record_encoding.hpp"

namespace multicard {
namespace {

using namespace test;

TEST_F(RecordEncoderTest, Alpaca) {
  EXPECT_EQ(sequence(DatasetType::alpaca, "alpaca", R"({"instruction": "Add 2 and 2.", "input": "", "output": "4"})"),
            "<s>Below is an instruction that describes a task. Write a response that appropriately completes the "
            "request.\n\n### Instruction:\nAdd 2 and 2.\n\n### Response:\n[[4</s>]]");
  EXPECT_EQ(sequence(DatasetType::alpaca, "alpaca", R"({"instruction": "Add.", "input": "2 2", "output": "4"})"),
            "<s>Below is an instruction that describes a task, paired with an input that provides further context. "
            "Write a response that appropriately completes the request.\n\n### Instruction:\nAdd.\n\n### Input:\n2 2"
            "\n\n### Response:\n[[4</s>]]");
  EXPECT_EQ(sequence(DatasetType::alpaca, "chatml", R"({"instruction": "Add.", "input": "2 2", "output": "4"})"),
            "<s>" + turn("Add.\n2 2", "4"));
  EXPECT_EQ(sequence(DatasetType::alpaca, "chatml",
                     R"({"instruction": "And 3?", "output": "9", "system": "Square.", "history": [["2?", "4"]]})"),
            "<s><|im_start|>system\nSquare.<|im_end|>\n" + turn("2?", "4") + turn("And 3?", "9"));
}

TEST_F(RecordEncoderTest, TwoTextsAreTokenisedTogether) {
  const std::shared_ptr<const Tokenizer> tokenizer = Tokenizer::load(source_path("tests/data/tokenizers/smollm2"));
  std::vector<TokenId> ids = tokenizer->encode("Say: Hello", SpecialTokens::leave_out);
  ids.push_back(tokenizer->eos().value());
  const auto encoded = [&](DatasetType type, const char* record) {
    return RecordEncoder(type, tokenizer, PromptTemplate::named("plain"), LossOn::completion).encode_json(record, "x");
  };
  const EncodedText joined =
      encoded(DatasetType::prompt_completion, R"({"prompt": "Say: Hel", "completion": "lo"})").sequence;
  const EncodedText chosen =
      encoded(DatasetType::preference, R"({"chosen": "Say: Hello", "rejected": "Say: Help"})").sequence;

  EXPECT_EQ(joined.ids, ids);
  EXPECT_EQ(joined.loss_mask, (std::vector<std::uint8_t>{0, 0, 1, 1}));  // the answer's first letters are in " Hello"
  EXPECT_EQ(chosen.ids, ids);
  EXPECT_EQ(chosen.loss_mask, joined.loss_mask);
}

TEST_F(RecordEncoderTest, EqualTextsAreTheirLastCharacter) {
  const EncodedRecord pair =
      RecordEncoder(DatasetType::preference, Tokenizer::load(source_path("tests/data/tokenizers/smollm2")),
                    PromptTemplate::named("plain"), LossOn::completion)
          .encode_json(R"({"chosen": "Say: A", "rejected": "Say: A"})", "x");

  EXPECT_EQ(pair.sequence.loss_mask, (std::vector<std::uint8_t>{0, 0, 1, 1}));  // Say, :, A, EOS
}

TEST_F(RecordEncoderTest, TrainsOnEverythingWhenAsked) {
  EXPECT_EQ(sequence(DatasetType::question_answer, "plain", R"({"question": "2+2", "answer": "4"})", LossOn::all),
            "<s>[[2+2\n4</s>]]");
}

TEST_F(RecordEncoderTest, Chat) {
  const std::string wanted = "<s><|im_start|>system\nBe brief.<|im_end|>\n" + turn("Hi", "Hello") + turn("Bye", "Ciao");
  EXPECT_EQ(sequence(DatasetType::chat, "chatml", R"({"messages": [{"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"},
    {"role": "user", "content": [{"type": "text", "text": "B"}, {"type": "text", "text": "ye"}]},
    {"role": "assistant", "content": "Ciao"}]})"),
            wanted);
  EXPECT_EQ(sequence(DatasetType::chat, "chatml", R"({"system": "Be brief.", "conversations": [
    {"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"},
    {"from": "human", "value": "Bye"}, {"from": "gpt", "value": "Ciao"}]})"),
            wanted);
  EXPECT_EQ(sequence(DatasetType::chat, "chatml", R"({"messages": [{"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Hello", "weight": 0}, {"role": "user", "content": "Bye"},
    {"role": "assistant", "content": "Ciao", "weight": 1}], "tools": []})"),
            "<s>" + masked_turn("Hi", "Hello") + turn("Bye", "Ciao"));
}

TEST_F(RecordEncoderTest, ChatIsWhatTheReferenceLibraryRenders) {
  const std::filesystem::path folder = source_path("tests/data/tokenizers");
  const RecordEncoder encoder(DatasetType::chat, Tokenizer::load(folder / "smollm2"), PromptTemplate::named("smollm2"),
                              LossOn::completion);
  const auto oracle = nlohmann::json::parse(read_file(folder / "oracles/smollm2_chat.json"));
  ASSERT_FALSE(oracle.at("conversations").empty());
  for (const auto& conversation : oracle.at("conversations")) {
    const EncodedText text = encoder.encode_json(conversation.dump(), "x").sequence;
    EXPECT_EQ(text.ids, conversation.at("plain").at("ids").get<std::vector<TokenId>>());
  }
}

TEST_F(RecordEncoderTest, PromptCompletion) {
  const std::string texts = R"({"prompt": "The sky is", "completion": " blue"})";
  EXPECT_EQ(sequence(DatasetType::prompt_completion, "plain", texts), "<s>The sky is[[ blue</s>]]");
  EXPECT_EQ(sequence(DatasetType::prompt_completion, "chatml", texts), "<s>" + turn("The sky is", " blue"));
  EXPECT_EQ(sequence(DatasetType::prompt_completion, "chatml", R"({"prompt": [{"role": "user", "content": "a"},
    {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}],
    "completion": [{"role": "assistant", "content": "d"}]})"),
            "<s>" + masked_turn("a", "b") + turn("c", "d"));
}

TEST_F(RecordEncoderTest, Text) {
  EXPECT_EQ(sequence(DatasetType::text, "", R"({"text": "Once"})"), "<s>[[Once</s>]]");
  const RecordEncoder encoder(DatasetType::text, tokenizer_, {}, LossOn::completion);
  const EncodedText plain = encoder
                                .encode_text(
                                    "\xef\xbb\xbf"
                                    "Two\nlines\n",
                                    "x.txt")
                                .sequence;
  EXPECT_EQ(shown(Sequence{plain.ids, plain.loss_mask}), "<s>[[Two\nlines\n</s>]]");
  EXPECT_THROW(encoder.encode_text("caf\xe9", "x.txt"), DataError);
}

TEST_F(RecordEncoderTest, Preferences) {
  const Pair wanted = {"<s>" + turn("Hi", "Hello"), "<s>" + turn("Hi", "Go")};
  for (const char* json :
       {R"({"prompt": "Hi", "chosen": "Hello", "rejected": "Go"})",
        R"({"instruction": "Hi", "input": "", "output": "x", "chosen": "Hello", "rejected": "Go"})",
        R"({"question": "Hi", "chosen": "Hello", "rejected": "Go"})",
        R"({"prompt": [{"role": "user", "content": "Hi"}], "chosen": [{"role": "assistant", "content": "Hello"}],
            "rejected": [{"role": "assistant", "content": "Go"}]})",
        R"({"conversations": [{"from": "human", "value": "Hi"}], "chosen": {"from": "gpt", "value": "Hello"},
            "rejected": {"from": "gpt", "value": "Go"}})",
        R"({"chosen": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}],
            "rejected": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Go"}]})",
        R"({"prompt": "Hi", "chosen": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}],
            "rejected": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Go"}]})"})
    EXPECT_EQ(pair("chatml", json), wanted) << json;
  EXPECT_EQ(pair("plain", R"({"prompt": "2+2=", "chosen": "4", "rejected": "5"})"),
            (Pair{"<s>2+2=[[4</s>]]", "<s>2+2=[[5</s>]]"}));
  // Texts that carry their prompt; a space and a broken character go to the answer.
  EXPECT_EQ(pair("chatml", R"({"chosen": "A: hi B: yes", "rejected": "A: hi B: no"})"),
            (Pair{"<s>A: hi B:[[ yes</s>]]", "<s>A: hi B:[[ no</s>]]"}));
  EXPECT_EQ(pair("chatml", R"({"chosen": "A: caf\u00e9", "rejected": "A: caf\u00e8"})"),
            (Pair{"<s>A: caf[[\xc3\xa9</s>]]", "<s>A: caf[[\xc3\xa8</s>]]"}));
  EXPECT_EQ(pair("chatml", R"({"prompt": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
    {"role": "user", "content": "c"}], "chosen": "d", "rejected": "e"})"),
            (Pair{"<s>" + masked_turn("a", "b") + turn("c", "d"), "<s>" + masked_turn("a", "b") + turn("c", "e")}));
}

TEST_F(RecordEncoderTest, Tokens) {
  const auto sequence = [&](const std::string& json) {
    return RecordEncoder(DatasetType::tokens, nullptr, {}, LossOn::completion).encode_json(json, "line 7 of x.jsonl");
  };
  const EncodedRecord one = sequence(R"({"input_ids": [5, 6, 7, 8], "labels": [5, -100, 7, 8], "x": 1})");
  EXPECT_EQ(one.sequence.ids, (std::vector<std::uint32_t>{5, 6, 7, 8}));
  EXPECT_EQ(one.sequence.loss_mask, (std::vector<std::uint8_t>{0, 0, 1, 1}));
  EXPECT_FALSE(one.rejected);
  const EncodedRecord two = sequence(R"({"chosen_input_ids": [1, 2], "chosen_labels": [-100, 2],
                                         "rejected_input_ids": [1, 3, 4], "rejected_labels": [-100, 3, -100]})");
  EXPECT_EQ(two.sequence.ids, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(two.rejected.value().loss_mask, (std::vector<std::uint8_t>{0, 1, 0}));
  expect_error(DatasetType::tokens, R"({"input_ids": [5, 6], "labels": [5, 7]})", "\"labels\"[1]");
  expect_error(DatasetType::tokens, R"({"input_ids": [5, 6], "labels": [5]})", "2 \"input_ids\" and 1 \"labels\"");
  expect_error(DatasetType::tokens, R"({"input_ids": [5, -6], "labels": [5, -100]})", "\"input_ids\"[1]");
  expect_error(DatasetType::tokens, R"({"input_ids": [5, 99999999999], "labels": [5, -100]})", "\"input_ids\"[1]");
  expect_error(DatasetType::tokens, R"({"input_ids": [5, 6.5], "labels": [5, 6.5]})", "\"input_ids\"[1]");
  expect_error(DatasetType::tokens, R"({"input_ids": [5, 6], "labels": [5, "6"]})", "\"labels\"[1]");
  expect_error(DatasetType::tokens, R"({"input_ids": [5, 6]})", "labels");
}

TEST_F(RecordEncoderTest, NamesWhatIsWrongWithARecord) {
  expect_error(DatasetType::alpaca, R"({"instruction": "a", "input": "b"})", "output");
  expect_error(DatasetType::alpaca, R"({"instruction": 3, "output": "b"})", "instruction");
  expect_error(DatasetType::alpaca, R"({"instruction": "a", "output": "b", "history": [["x"]]})", "history");
  expect_error(DatasetType::alpaca, R"(["a"])", "is not a JSON object");
  expect_error(DatasetType::alpaca, R"({"instruction": "a)", "is not JSON");
  expect_error(DatasetType::alpaca, "{\"instruction\": \"\xff\", \"output\": \"b\"}", "is not JSON");
  expect_error(DatasetType::alpaca, "", "is not JSON");
  expect_error(DatasetType::alpaca, std::string(100000, '['), "nested");
  expect_error(DatasetType::chat, R"({"message": []})", "messages");
  expect_error(DatasetType::chat, R"({"messages": []})", "messages");
  expect_error(DatasetType::chat, R"({"messages": ["hi"]})", "message");
  expect_error(DatasetType::chat, R"({"messages": [{"role": "user"}]})", "content");
  expect_error(DatasetType::chat, R"({"messages": [{"role": "user", "content": null}]})", "content");
  expect_error(DatasetType::chat, R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})",
               "image_url");
  expect_error(DatasetType::chat, R"({"messages": [{"role": "assistant", "content": "", "tool_calls": [{}]}]})",
               "tool_calls");
  expect_error(DatasetType::chat, R"({"messages": [{"role": "assistant", "content": "", "weight": 0.5}]})", "weight");
  expect_error(DatasetType::chat, R"({"messages": [{"role": "user", "content": "x"}], "tools": [{}]})", "tools");
  expect_error(DatasetType::prompt_completion, R"({"prompt": "a", "completion": [{"role": "user", "content": "b"}]})",
               "neither two texts");
  expect_error(DatasetType::question_answer, R"({"question": "a"})", "answer");
  expect_error(DatasetType::text, R"({"txt": "a"})", "text");
  expect_error(DatasetType::preference, R"({"prompt": "a", "chosen": "b"})", "rejected");
  expect_error(DatasetType::preference, R"({"chosen": {"role": "assistant", "content": "b"}, "rejected": "c"})",
               "has no prompt");
  expect_error(DatasetType::chat, R"({"messages": [{"role": "bot", "content": "b"}]})", "has the role bot");
  expect_error(DatasetType::preference, R"({"prompt": "a", "chosen": 1, "rejected": 2})",
               "neither a string nor a message");
}

TEST(LikelyType, IsKnownByItsMembers) {
  EXPECT_EQ(likely_other_type(R"({"messages": [], "prompt": "a"})", DatasetType::text), DatasetType::chat);
  EXPECT_EQ(likely_other_type(R"({"conversations": []})", DatasetType::text), DatasetType::chat);
  EXPECT_EQ(likely_other_type(R"({"conversations": [], "chosen": {}, "rejected": {}})", DatasetType::text),
            DatasetType::preference);
  EXPECT_EQ(likely_other_type(R"({"instruction": "a", "output": "b"})", DatasetType::text), DatasetType::alpaca);
  EXPECT_EQ(likely_other_type(R"({"instruction": "a"})", DatasetType::text), std::nullopt);
  EXPECT_EQ(likely_other_type("[1]", DatasetType::text), std::nullopt);
  EXPECT_EQ(likely_other_type("{", DatasetType::text), std::nullopt);
  const std::string both = R"({"messages": [], "chosen": "a", "rejected": "b"})";
  EXPECT_EQ(likely_other_type(both, DatasetType::text), DatasetType::preference);
  EXPECT_EQ(likely_other_type(both, DatasetType::chat), std::nullopt) << "it has what is asked for";
}

/// A record with some bytes changed, left out or doubled.
std::string damaged(std::string record, std::uint64_t seed) {
  auto draw = [&, count = std::uint64_t{0}](std::uint64_t bound) mutable {
    return below(splitmix64(seed, count++), bound);
  };
  for (std::uint64_t change = 0; change <= seed % 3 && !record.empty(); ++change) {
    const std::size_t at = draw(record.size());
    const char* const kBytes = "[]{}\",:\\0-n\xff\xc3 ";
    switch (draw(4)) {
      case 0:
        record[at] = kBytes[draw(15)];
        break;
      case 1:
        record.erase(at, 1 + draw(8));
        break;
      case 2:
        record.insert(at, record.substr(draw(record.size()), draw(20)));
        break;
      default:
        record.insert(at, 1, static_cast<char>(draw(256)));
    }
  }
  return record;
}

TEST_F(RecordEncoderTest, EndsInOrderOnDamagedRecords) {
  const std::vector<std::pair<DatasetType, std::string>> records = {
      {DatasetType::alpaca, R"({"instruction": "a", "input": "b", "output": "c", "history": [["d", "e"]]})"},
      {DatasetType::chat, R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]})"},
      {DatasetType::prompt_completion, R"({"prompt": "\u00e9", "completion": ""})"},
      {DatasetType::text, R"({"text": "a\u0000\ud83d\ude00"})"},
      {DatasetType::preference, R"({"prompt": "a", "chosen": "b", "rejected": {"from": "gpt", "value": "c"}})"},
      {DatasetType::preference, R"({"chosen": [{"role": "user", "content": "a"}], "rejected": "b"})"},
      {DatasetType::tokens, R"({"input_ids": [1, 2, 3], "labels": [-100, 2, 3], "chosen_input_ids": null})"}};
  int num_encoded = 0, num_refused = 0;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    const auto& [type, record] = records[seed % records.size()];
    const bool has_template = type != DatasetType::tokens && type != DatasetType::text;
    try {
      const EncodedRecord encoded = encode(type, has_template ? "chatml" : "", damaged(record, seed));
      EXPECT_EQ(encoded.sequence.ids.size(), encoded.sequence.loss_mask.size());
      ++num_encoded;
    } catch (const DataError&) {
      ++num_refused;
    }
  }
  EXPECT_GT(num_encoded, 100);
  EXPECT_GT(num_refused, 3000);
}

TEST_F(RecordEncoderTest, NeedsATokenizerThatCanEndAnswers) {
  std::filesystem::remove(scratch_ / "model/tokenizer_config.json");
  const std::shared_ptr<const Tokenizer> bare = Tokenizer::load(scratch_ / "model");
  EXPECT_THROW(RecordEncoder(DatasetType::text, bare, {}, LossOn::completion), DataError);
  EXPECT_THROW(RecordEncoder(DatasetType::alpaca, bare, PromptTemplate::named("alpaca"), LossOn::completion),
               DataError);
  EXPECT_NO_THROW(RecordEncoder(DatasetType::alpaca, bare, PromptTemplate::named("chatml"), LossOn::completion));
}

}  // namespace
}  // namespace multicard
