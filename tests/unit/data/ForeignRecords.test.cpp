// Records in layouts of others: nothing that belongs to the text is left out in silence.
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/RegularFile.hpp"
#include "data/RecordFields.hpp"
#include "unit/data/record_encoding.hpp"

namespace multicard {
namespace {

using namespace test;

class ForeignRecords : public RecordEncoderTest {};

const std::string kSystem = "<|im_start|>system\nBe brief.<|im_end|>\n";

TEST_F(ForeignRecords, OfPreferencesFindTheirPrompt) {
  const Pair wanted = {"<s>" + turn("Hi", "Hello"), "<s>" + turn("Hi", "Go")};
  const std::string with_prompt = R"([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}])";
  for (const std::string& json : {
           std::string(R"({"input": "Hi", "system": "", "chosen": "Hello", "rejected": "Go"})"),
           std::string(R"({"query": "Hi", "chosen": "Hello", "rejected": "Go"})"),
           R"({"chosen": )" + with_prompt + R"(, "rejected": "Go"})",
           R"({"prompt": "Hi", "chosen": )" + with_prompt +
               R"(, "rejected": [{"role": "assistant", "content": "Go"}]})",
           std::string(R"({"instruction": "Hi", "chosen": [{"role": "assistant", "content": "Hello"}],
                           "rejected": [{"role": "assistant", "content": "Go"}]})"),
       })
    EXPECT_EQ(pair("chatml", json), wanted) << json;
}

TEST_F(ForeignRecords, OfPreferencesKeepTheSystemMessage) {
  const Pair wanted = {"<s>" + kSystem + turn("Hi", "Hello"), "<s>" + kSystem + turn("Hi", "Go")};
  for (const char* prompt :
       {R"("question": "Hi")", R"("prompt": "Hi")", R"("instruction": "Hi")", R"("input": "Hi")",
        R"("prompt": [{"role": "user", "content": "Hi"}])",
        R"("prompt": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}])",
        R"("messages": [{"role": "user", "content": "Hi"}])"})
    EXPECT_EQ(
        pair("chatml", std::string(R"({"system": "Be brief.", "chosen": "Hello", "rejected": "Go", )") + prompt + "}"),
        wanted)
        << prompt;
  EXPECT_EQ(pair("chatml", R"({"system": "Be brief.",
              "chosen": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}],
              "rejected": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Go"}]})"),
            wanted);
}

TEST_F(ForeignRecords, OfPreferencesAreRefusedWhereTheirPromptIsOpen) {
  const DatasetType type = DatasetType::preference;
  expect_error(type, R"({"chosen": "Green.", "rejected": "It is green."})", "has no prompt");
  expect_error(type,
               R"({"prompt": "Hi", "chosen": [{"role": "user", "content": "Ho"}, {"role": "assistant", "content": "a"}],
                         "rejected": "b"})",
               "two prompts");
  expect_error(type, R"({"chosen": [{"role": "user", "content": "Ho"}, {"role": "assistant", "content": "a"}],
                         "rejected": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "b"}]})",
               "different prompts");
  expect_error(type, R"({"prompt": "Hi", "question": "Ho", "chosen": "a", "rejected": "b"})", "two prompts");
  EXPECT_NO_THROW(pair("chatml", R"({"prompt": "Hi", "question": "Hi", "chosen": "a", "rejected": "b"})"));
  expect_error(type,
               R"({"system": "x", "prompt": [{"role": "system", "content": "y"}, {"role": "user", "content": "Hi"}],
                         "chosen": "a", "rejected": "b"})",
               "two system messages");
  expect_error(type, R"({"system": "x", "chosen": "A: hi B: a", "rejected": "A: hi B: b"})", "system");
  expect_error(type, R"({"prompt": "Hi", "context": "c", "chosen": "a", "rejected": "b"})", "context");
}

TEST_F(ForeignRecords, OfOtherTypesKeepTheSystemMessage) {
  EXPECT_EQ(
      sequence(DatasetType::question_answer, "chatml", R"({"system": "Be brief.", "question": "Hi", "answer": "Ho"})"),
      "<s>" + kSystem + turn("Hi", "Ho"));
  EXPECT_EQ(sequence(DatasetType::prompt_completion, "chatml",
                     R"({"system": "Be brief.", "prompt": "Hi", "completion": "Ho"})"),
            "<s>" + kSystem + turn("Hi", "Ho"));
  EXPECT_EQ(sequence(DatasetType::prompt_completion, "chatml",
                     R"({"system": "Be brief.", "prompt": [{"role": "user", "content": "Hi"}],
                         "completion": [{"role": "assistant", "content": "Ho"}]})"),
            "<s>" + kSystem + turn("Hi", "Ho"));
  EXPECT_THROW(
      sequence(DatasetType::prompt_completion, "plain", R"({"system": "x", "prompt": "Hi", "completion": "Ho"})"),
      DataError);
}

TEST_F(ForeignRecords, OfUnknownRolesAreRefusedWithTheNearestKnownOne) {
  const auto refused = [&](const std::string& role, const std::string& text) {
    expect_error(DatasetType::chat,
                 R"({"messages": [{"role": "user", "content": "a"}, {"role": ")" + role + R"(", "content": "b"}]})",
                 text);
  };
  refused("function_call", "--map role:assistant=function_call");
  refused("assistent", "--map role:assistant=assistent");
  refused("critic", "the role critic");
}

TEST_F(ForeignRecords, WithFieldsThatOthersTrainOnAreRefused) {
  expect_error(DatasetType::question_answer, R"({"question": "a", "context": "c", "answer": "b"})", "context");
  expect_error(DatasetType::prompt_completion, R"({"prompt": "a", "input": "c", "completion": "b"})", "input");
  expect_error(DatasetType::alpaca, R"({"instruction": "a", "output": "b", "images": ["x.png"]})", "images");
  expect_error(DatasetType::alpaca, R"({"instruction": "a", "output": "b", "tools": [{"name": "f"}]})", "tools");
  expect_error(DatasetType::tokens, R"({"input_ids": [1, 2], "labels": [1, 2], "attention_mask": [1, 0]})",
               "attention_mask");
  EXPECT_NO_THROW(sequence(DatasetType::alpaca, "chatml", R"({"instruction": "a", "output": "b", "images": []})"));
}

TEST_F(ForeignRecords, NameTheFieldsThatNothingIsKnownOf) {
  const auto unknown = [&](DatasetType type, const std::string& json) {
    return encode(type, "chatml", json).unknown_fields;
  };
  EXPECT_EQ(unknown(DatasetType::alpaca, R"({"id": 7, "instruction": "a", "output": "b", "hint": "c", "extra": null})"),
            (std::vector<std::string>{"hint"}));
  EXPECT_TRUE(unknown(DatasetType::preference, R"({"prompt": "a", "prompt_id": "x", "chosen": "b", "rejected": "c",
                                                   "score_chosen": 1.5})")
                  .empty());
}

TEST(RecordFormats, NameEachFieldOnceAndAreTheTablesOfTheDocument) {
  const std::string document = read_file(source_path("docs/data.md"));
  for (const ForeignFormat& format : record_formats()) {
    std::set<std::string> names;
    for (const ForeignKey& key : format.keys.front()) {
      EXPECT_TRUE(names.insert(key.name).second) << format.name << " " << key.name;
      EXPECT_NE(std::string(key.note), "") << key.name;
    }
    const std::string block =
        "<!-- keys of format " + format.name + " -->\n" + markdown_table(format) + "<!-- end of keys -->\n";
    EXPECT_NE(document.find(block), std::string::npos)
        << "docs/data.md differs in the fields of " << format.name << ": run scripts/update_docs.py";
  }
}

}  // namespace
}  // namespace multicard
