// Messages as people write them.
#include "prepare/records/Conversation.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "io/Bytes.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using nlohmann::ordered_json;

Conversation read(const std::string& json) {
  return read_conversation(ordered_json::parse(json), "line 3");
}

std::string refusal(const std::string& json) {
  try {
    read(json);
    return "none";
  } catch (const DataError& error) {
    return error.what();
  }
}

/// A conversation of one answer with these members.
std::string answer_with(const std::string& members) {
  return R"({"messages": [{"role": "assistant", "content": "a")" + members + "}]}";
}

TEST(Conversation, AWeightHasThreeNames) {
  const auto is_trained = [](const char* members) { return read(answer_with(members)).messages[0].is_trained; };
  for (const char* members : {"", R"(, "weight": 1)", R"(, "loss_weight": 1.0)", R"(, "train": true)",
                              R"(, "weight": null)", R"(, "train": true, "weight": 1)"})
    EXPECT_TRUE(is_trained(members)) << members;
  for (const char* members : {R"(, "weight": 0)", R"(, "loss_weight": 0.0)", R"(, "train": false)"})
    EXPECT_FALSE(is_trained(members)) << members;
  for (const char* members : {R"(, "weight": 0.5)", R"(, "loss_weight": 2)", R"(, "train": "no")", R"(, "weight": [])"})
    EXPECT_NE(refusal(answer_with(members)).find("trained on"), std::string::npos) << members;
  EXPECT_NE(refusal(answer_with(R"(, "weight": 0, "train": true)")).find("contradict"), std::string::npos);
}

TEST(Conversation, PartsHaveTheirTextUnderTwoNames) {
  const Conversation all = read(R"({"messages": [{"role": "user", "content":
      [{"type": "text", "text": "a"}, {"type": "text", "value": "b"}]}]})");
  EXPECT_EQ(all.messages[0].content, "ab");
  EXPECT_NE(refusal(R"({"messages": [{"role": "user", "content": [{"type": "image"}]}]})").find("type image"),
            std::string::npos);
}

TEST(Conversation, NothingToReadIsSaid) {
  EXPECT_NE(refusal(R"({"messages": []})").find("line 3 has an empty list of messages"), std::string::npos);
  EXPECT_NE(refusal(R"({"messages": {}})").find("are not a list"), std::string::npos);
  EXPECT_NE(refusal(R"({"messages": [{"role": "user"}]})").find("content"), std::string::npos);
  EXPECT_NE(refusal(R"({"messages": [{"role": "user", "content": null}]})").find("is not a string"), std::string::npos);
  EXPECT_NE(refusal(R"({"messages": [{"role": "user", "content": "x"}], "functions": [1]})").find("functions"),
            std::string::npos);
}

TEST(Conversation, KeepsFieldsInTheirOrder) {
  const Conversation all = read(R"({"tools": "[{\"z\": 1, \"a\": 2}]", "messages": [
      {"from": "gpt", "value": "v", "weight": 1, "tool_calls": [{"z": 1, "a": 2}], "name": null, "id": 7}]})");
  EXPECT_EQ(all.messages[0].fields, R"({"tool_calls":[{"z":1,"a":2}],"id":7})");
  EXPECT_EQ(all.messages[0].role, "assistant");
  EXPECT_EQ(all.messages[0].given_role, "gpt");
  EXPECT_EQ(all.tools, R"([{"z":1,"a":2}])");
  const Conversation call = read(R"({"messages": [{"role": "assistant", "content": null, "tool_calls": [1]}]})");
  EXPECT_FALSE(call.messages[0].has_content);
}

TEST(Conversation, ToolsNeedATemplateThatHasAPlaceForThem) {
  const test::ScratchFolder scratch;
  write_file(scratch / "chat_template.jinja",
             "{{ tools | tojson }}{% for m in messages %}{{ m.content }}{% if m.tool_calls %}!{% endif %}{% endfor %}");
  const PromptTemplate own = *PromptTemplate::of_folder(scratch.path().string()),
                       chatml = PromptTemplate::named("chatml");
  const Conversation tools = read(R"({"tools": [{"f": 1}], "messages": [{"role": "user", "content": "a"}]})"),
                     calls = read(R"({"messages": [{"role": "user", "content": "a", "tool_calls": [{}]}]})"),
                     none = read(R"({"tools": [], "messages": [{"role": "user", "content": "a", "tool_calls": []}]})");
  EXPECT_EQ(render(own, tools)[0].text, R"([{"f": 1}]a)");
  EXPECT_EQ(render(own, calls)[0].text, "nulla!");
  EXPECT_THROW(render(chatml, tools), DataError);
  EXPECT_THROW(render(chatml, calls), DataError);
  EXPECT_EQ(render(chatml, none)[0].text, "<|im_start|>user\na<|im_end|>\n");
}

TEST(Conversation, ReasoningIsSeen) {
  const auto has = [](const char* json) { return has_reasoning(ordered_json::parse(json)); };
  EXPECT_TRUE(has(R"({"messages": [{"role": "assistant", "content": "a", "reasoning_content": "b"}]})"));
  EXPECT_TRUE(has(R"({"chosen": {"role": "assistant", "content": "a", "thinking": "b"}})"));
  EXPECT_FALSE(has(R"({"messages": [{"role": "assistant", "content": "a", "reasoning_content": ""}], "x": ["y"]})"));
}

}  // namespace
}  // namespace multicard
