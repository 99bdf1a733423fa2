// Records in layouts of others: nothing that belongs to the text is left out in silence.
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/RegularFile.hpp"
#include "prepare/records/RecordFields.hpp"
#include "unit/prepare/record_encoding.hpp"

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

TEST_F(ForeignRecords, OfPreferencesLoseNoPartOfTheirPrompt) {
  const DatasetType type = DatasetType::preference;
  const std::string answers = R"("chosen": "a", "rejected": "b"})";
  for (const char* name : {"prompt", "question", "query"})
    expect_error(type, std::string(R"({")") + name + R"(": "Translate.", "input": "Hi", )" + answers,
                 std::string("--map instruction=") + name);
  expect_error(type, R"({"prompt": "Hi", "history": [["x", "y"]], )" + answers, "history");
  expect_error(type, R"({"history": [["x", "y"]], "chosen": "Q: a", "rejected": "Q: b"})", "history");
  expect_error(type, R"({"instruction": "Hi", "history": [["x", "y"]], "chosen": {"role": "assistant", "content": "a"},
                         "rejected": "b"})",
               "history");
  expect_error(type, R"({"prompt": "Hi", "conversations": [{"from": "human", "value": "Ho"}], )" + answers,
               "two prompts");
  expect_error(type, R"({"prompt": "", "chosen": "Q: a", "rejected": "Q: b"})", "is empty");
  expect_error(type, R"({"chosen": "The answer is 4.", "rejected": "The answer is 5."})", "does not look like one");
  EXPECT_EQ(pair("chatml", R"({"instruction": "", "prompt": "Hi", )" + answers),
            pair("chatml", R"({"prompt": "Hi", )" + answers));
  EXPECT_EQ(pair("chatml", R"({"instruction": "Hi", "history": [["x", "y"]], )" + answers).first,
            "<s>" + masked_turn("x", "y") + turn("Hi", "a"));
}

TEST_F(ForeignRecords, OfPreferencesMayRepeatWhatTheirAnswersBeginWith) {
  const auto half = [](const std::string& answer) {
    return R"([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": ")" + answer + R"("}])";
  };
  const std::string answers = R"("chosen": )" + half("a") + R"(, "rejected": )" + half("b") + "}";
  const Pair wanted = {"<s>" + turn("Hi", "a"), "<s>" + turn("Hi", "b")};
  EXPECT_EQ(pair("chatml", "{" + answers), wanted);
  EXPECT_EQ(pair("chatml", R"({"prompt": "Hi ", )" + answers), wanted);
  EXPECT_EQ(pair("chatml", R"({"prompt": "Hi", "messages": )" + half("a") + ", " + answers), wanted);
  expect_error(DatasetType::preference, R"({"prompt": "Ho", )" + answers, "two prompts");
  expect_error(DatasetType::preference, R"({"messages": )" + half("c") + ", " + answers, "two prompts");
}

TEST_F(ForeignRecords, OfChatWithTwoConversationsAreRefused) {
  const std::string messages =
      R"({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "a"}],
                                   "conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": ")";
  EXPECT_EQ(sequence(DatasetType::chat, "chatml", messages + R"(a"}]})"), "<s>" + turn("Hi", "a"));
  expect_error(DatasetType::chat, messages + R"(b"}]})", "two conversations");
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
  expect_error(DatasetType::tokens, R"({"input_ids": [1, 2], "labels": [1, 2], "position_ids": [0, 0]})",
               "position_ids");
  EXPECT_NO_THROW(encode(DatasetType::tokens, "", R"({"input_ids": [1, 2], "labels": [1, 2],
                         "attention_mask": [true, true], "position_ids": [0, 1]})"));
  expect_error(DatasetType::alpaca, R"({"instruction": "a", "input": "b", "context": "c", "output": "d"})", "context");
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
  const std::string messages =
      R"("messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "a"}]})";
  EXPECT_TRUE(unknown(DatasetType::chat, R"({"prompt": "Hi", )" + messages).empty());
  EXPECT_EQ(unknown(DatasetType::chat, R"({"prompt": "Ho", )" + messages), (std::vector<std::string>{"prompt"}));
}

TEST_F(ForeignRecords, HaveMessagesWhoseMembersAreKnown) {
  const auto record = [](const std::string& members) {
    return R"({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho", )" + members +
           "}]}";
  };
  EXPECT_EQ(
      encode(DatasetType::chat, "chatml", record(R"("foo": 1, "name": "bob", "id": 3, "bar": "")")).unknown_fields,
      std::vector<std::string>{"messages.foo"});
  for (const char* weight : {R"("loss": false)", R"("training": 0)", R"("weight": 0)"})
    EXPECT_EQ(sequence(DatasetType::chat, "chatml", record(weight)), "<s>" + masked_turn("Hi", "Ho")) << weight;
  expect_error(DatasetType::chat, record(R"("loss_scale": 0.5)"), "how much an answer counts");
  expect_error(DatasetType::chat, record(R"("train_detail": [{}])"), "train_detail");
  expect_error(DatasetType::chat, record(R"("images": ["a"])"), "only text is trained on");
}

TEST_F(ForeignRecords, NameTheirSystemMessageInOtherWords) {
  const std::string wanted = "<s>" + kSystem + turn("Hi", "Ho");
  for (const char* name : {"system", "system_prompt", "system_message"}) {
    RecordMap map(DatasetType::question_answer, {});
    auto record = nlohmann::ordered_json::parse(R"({"question": "Hi", "response": "Ho"})");
    record[name] = "Be brief.";
    map.apply(record);
    EXPECT_EQ(sequence(DatasetType::question_answer, "chatml", record.dump()), wanted) << name;
  }
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
