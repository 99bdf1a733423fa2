// Where the answers of a rendered conversation are.

#include <gtest/gtest.h>

#include "Data.hpp"
#include "base/Error.hpp"
#include "text/prompts/PromptTemplate.hpp"

namespace multicard {
namespace {

using nlohmann::json;

/// A model folder with a chat template.
class Folder {
 public:
  explicit Folder(const std::string& source, const std::string& eos = "</s>") {
    std::filesystem::create_directories(path_);
    write_file(path_ + "/tokenizer_config.json",
               json{{"chat_template", source}, {"bos_token", "<s>"}, {"eos_token", {{"content", eos}}}}.dump());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_ = testing::TempDir() + "multicard-targets-" + std::to_string(getpid());
};

/// The text with brackets around its targets, or the reason why there is none.
std::string marked(const PromptTemplate& prompt_template, const Prompt& prompt) {
  try {
    std::string text;
    for (const TextPiece& piece : prompt_template.conversation(prompt, Turn::closed))
      text += piece.is_target ? "[" + piece.text + "]" : piece.text;
    return text;
  } catch (const DataError& error) {
    return std::string("refused: ") + error.what();
  }
}

std::string marked(const std::string& source, const std::vector<Message>& messages, const std::string& tools = "") {
  const Folder folder(source);
  return marked(*PromptTemplate::of_folder(folder.path()), {messages, tools});
}

const std::vector<Message> kTwoTurns{{"user", "a"}, {"assistant", "b"}, {"user", "c"}, {"assistant", "d"}};
const std::string kOpen = "{% if add_generation_prompt %}A:{% endif %}";

TEST(ChatTargets, AreWhatAnswersAddToTheTextBeforeThem) {
  const std::string source =
      "{{ bos_token }}{% for m in messages %}{{ m.role[0] | upper }}:{{ m.content }}"
      "{{ eos_token if m.role == 'assistant' }} {% endfor %}";

  EXPECT_EQ(marked(source + kOpen, kTwoTurns), "<s>U:a A:[b</s>] U:c A:[d</s>] ");
}

TEST(ChatTargets, SkipAnswersThatAreNotTrained) {
  std::vector<Message> messages = kTwoTurns;
  messages[1].is_trained = false;

  EXPECT_EQ(marked("{% for m in messages %}({{ m.content }}){% endfor %}", messages), "(a)(b)(c)[(d)]");
}

TEST(ChatTargets, EndBeforeAnEosThatOnlyTheWholeTextHas) {
  const std::string source = "{% for m in messages %}{{ m.role[0] | upper }}:{{ m.content }}|\n{% endfor %}";

  EXPECT_EQ(marked(source + "{% if add_generation_prompt %}A:{% else %}{{ eos_token }}{% endif %}", kTwoTurns),
            "U:a|\nA:[b|]\nU:c|\nA:[d|\n</s>]");
}

TEST(ChatTargets, EndWithTheirOwnMarkerWhereTheLastAnswerEndsWithTheEos) {  // as gpt-oss writes them
  const std::string source =
      "{% for m in messages %}<|start|>{{ m.role }}<|message|>{{ m.content }}"
      "{% if m.role == 'assistant' and loop.last and not add_generation_prompt %}<|return|>{% else %}<|end|>{% endif %}"
      "{% endfor %}{% if add_generation_prompt %}<|start|>assistant<|message|>{% endif %}";

  for (const char* eos : {"<|return|>", "<|endoftext|>"}) {
    const Folder folder(source, eos);
    EXPECT_EQ(marked(*PromptTemplate::of_folder(folder.path()), {kTwoTurns, ""}),
              "<|start|>user<|message|>a<|end|><|start|>assistant<|message|>[b<|end|>]<|start|>user<|message|>c<|end|>"
              "<|start|>assistant<|message|>[d<|return|>]")
        << eos;
  }
}

TEST(ChatTargets, AreFoundWhereEarlierAnswersAreWrittenInAnotherWay) {
  const std::string source =
      "{% for m in messages %}{{ m.role[0] | upper }}:{% if m.role == 'assistant' and loop.last %}"
      "<think></think>{% endif %}{{ m.content.split('</think>')[-1] }}|{% endfor %}";
  std::vector<Message> messages = kTwoTurns;
  messages[1].content = "why</think>b";

  EXPECT_EQ(marked(source + kOpen, messages), "U:a|A:[b|]U:c|A:[<think></think>d|]");
}

TEST(ChatTargets, WithToolCallsReachToTheEndOfTheTurn) {
  const std::string source =
      "{% for m in messages %}{{ m.role[0] | upper }}:{% if m.role == 'assistant' and loop.last %}<think></think>"
      "{% endif %}{{ m.content }}{% for c in m.tool_calls %}({{ c.name }}{{ c.arguments | tojson }}){% endfor %}|"
      "{% endfor %}";
  std::vector<Message> messages = kTwoTurns;
  messages[1].content = "";
  messages[1].fields = R"({"tool_calls": [{"name": "f", "arguments": {"z": 1, "a": [2]}}]})";
  messages[2].role = "tool";

  EXPECT_EQ(marked(source + kOpen, messages), "U:a|A:[(f{\"z\": 1, \"a\": [2]})|]T:c|A:[<think></think>d|]");
}

/// A conversation in which an answer follows each question, and what the template of the tests makes of it.
std::vector<Message> long_conversation(std::size_t length) {
  std::vector<Message> messages;
  for (std::size_t i = 0; i < length; ++i)
    messages.push_back({i % 2 == 0 ? "user" : "assistant", "message " + std::to_string(i)});
  return messages;
}

TEST(ChatTargets, OfLongConversationsTakeFewRenderings) {  // else this test would take minutes
  const std::string plain = "{% for m in messages %}{{ m.role[0] | upper }}:{{ m.content }}|{% endfor %}" + kOpen;
  const std::string looks_around =
      "{% set ns = namespace(n=0) %}{% set rest = messages[1:] %}{% if messages[0].role != 'x' %}"
      "{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}{% endif %}"
      "{{ 'U:' ~ messages[0].content ~ '|' }}{% for m in rest %}{% set ns.n = ns.n + 1 %}{{ m.role[0] | upper }}:"
      "{{ m.content }}|{% if loop.last and add_generation_prompt %}A:{% endif %}{% endfor %}";
  const std::vector<Message> messages = long_conversation(20000);
  std::string expected;
  for (std::size_t i = 0; i < messages.size(); ++i)
    expected += i % 2 == 0 ? "U:" + messages[i].content + "|" : "A:[" + messages[i].content + "|]";

  EXPECT_EQ(marked(plain, messages), expected);
  expected.replace(expected.find("A:["), 3, "[A:");  // no header after a single message
  EXPECT_EQ(marked(looks_around, messages), expected);
}

TEST(ChatTargets, ThatTakeTooManyRenderingsAreRefused) {
  const std::string source =
      "{{ messages | length }}{% set text %}{% for m in messages %}{% if messages | length %}{{ m.content }}{% endif %}"
      "{% endfor %}{% endset %}{{ text }}";
  std::vector<Message> messages = long_conversation(3000);
  for (Message& message : messages)
    message.content.append(1000, '.');

  EXPECT_NE(marked(source, messages).find("it has too many messages for that"), std::string::npos);
  EXPECT_EQ(marked(source, long_conversation(4)), "4message 0[message 1]message 2[message 3]");
}

TEST(ChatTargets, ThatTakeTooManyStepsAreRefused) {  // else this test would take minutes
  const std::string source =
      "{% set text %}{% for m in messages %}{{ m.content }}{% endfor %}{% endset %}{{ text }}"
      "{% for i in range(100000) %}{% for j in range(9) %}{% endfor %}{% endfor %}";

  EXPECT_NE(marked(source, long_conversation(2000)).find("it has too many messages for that"), std::string::npos);
}

TEST(ChatTargets, AreRefusedWhereTheyCannotBeFound) {
  const std::string reversed = "{% for m in messages[::-1] %}{{ m.content | replace('b', 'x') | upper }}{% endfor %}";

  EXPECT_NE(marked(reversed, kTwoTurns).find("refused: the chat template of "), std::string::npos);
  EXPECT_NE(marked(reversed, kTwoTurns).find("message 2 cannot be found"), std::string::npos);
  EXPECT_NE(marked(reversed, kTwoTurns).find("--template NAME"), std::string::npos);
}

TEST(ChatTargets, AreTheGenerationBlocksWhereThereAreSome) {
  const std::string source =
      "{% for m in messages %}{% if m.role == 'assistant' %}A:{% generation %} {{ m.content }} "
      "{% endgeneration %}|{% else %}U:{{ m.content }}|{% endif %}{% endfor %}";
  std::vector<Message> messages = kTwoTurns;

  EXPECT_EQ(marked(source, messages), "U:a|A:[ b ]|U:c|A:[ d ]|");
  messages[3].is_trained = false;
  EXPECT_EQ(marked(source, messages), "U:a|A:[ b ]|U:c|A: d |");
  const std::string bare =
      "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{% endgeneration %}|"
      "{% else %}{{ m.content }}{% endif %}{% endfor %}";
  messages.push_back({"assistant", ""});
  EXPECT_EQ(marked(bare, messages), "a[b]|cd||");  // an empty block has no target, and belongs to an answer
}

TEST(ChatTargets, ARefusalOfTheTemplateIsOurs) {
  const std::string source = "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}";

  EXPECT_NE(marked(source, {{"system", "x"}}).find("(no system role)"), std::string::npos);
}

TEST(ChatTargets, TemplatesSeeFieldsToolsAndRolesAsGiven) {
  const std::string source =
      "{{ tools | tojson if tools }}{% for m in messages %}{{ m.role }}/{{ m.name }}/"
      "{{ m.content is defined }}/{{ m.reasoning_content }};{% endfor %}{{ 'developer' and '' }}";
  Message named{"user", "a", R"({"name": "Z", "thinking": "hm", "none": null})"}, without{"assistant", ""};
  without.has_content = false;
  without.is_trained = false;
  Message developer{"system", "b"}, human{"user", "c"};
  developer.given_role = "developer";
  human.given_role = "human";

  EXPECT_EQ(marked(source, {named, without, developer, human}, R"([{"z": 1, "a": 2}])"),
            "[{\"z\": 1, \"a\": 2}]user/Z/True/hm;assistant//False/;developer//True/;user//True/;");
}

TEST(ChatTargets, ToolsHaveATemplateOfTheirOwn) {
  const Folder folder("");
  const json list = {{{"name", "default"}, {"template", "plain"}}, {{"name", "tool_use"}, {"template", "with tools"}}};
  write_file(folder.path() + "/tokenizer_config.json", json{{"chat_template", list}}.dump());
  const PromptTemplate own = *PromptTemplate::of_folder(folder.path());
  const std::vector<Message> messages{{"user", "a"}};

  EXPECT_EQ(marked(own, {messages}), "plain");
  EXPECT_EQ(marked(own, {messages, R"([{"name": "f"}])"}), "with tools");
}

TEST(ChatTargets, KnownTemplatesWriteWhatTheirModelsLearnt) {
  const auto expect = [](const char* name, const std::vector<Message>& messages, const std::string& text) {
    EXPECT_EQ(marked(PromptTemplate::named(name), {messages}), text) << name;
  };
  std::vector<Message> with_system = kTwoTurns;
  with_system.insert(with_system.begin(), {"system", "s"});

  expect("mistral", with_system, "<s>[INST] s\n\na [/INST][ b</s>][INST] c [/INST][ d</s>]");
  expect("llama2", with_system, "<s>[INST] <<SYS>>\ns\n<</SYS>>\n\na [/INST][ b </s>]<s>[INST] c [/INST][ d </s>]");
  expect("zephyr", with_system,
         "<|system|>\ns</s>\n<|user|>\na</s>\n<|assistant|>\n[b</s>]\n<|user|>\nc</s>\n<|assistant|>\n[d</s>]\n");
  expect("gemma", kTwoTurns,
         "<bos><start_of_turn>user\na<end_of_turn>\n<start_of_turn>model\n[b<end_of_turn>]\n<start_of_turn>user\n"
         "c<end_of_turn>\n<start_of_turn>model\n[d<end_of_turn>]\n");
  expect("phi3", kTwoTurns,
         "<|user|>\na<|end|>\n<|assistant|>\n[b<|end|>]\n<|user|>\nc<|end|>\n<|assistant|>\n[d<|end|>\n<|endoftext|>]");
  expect("phi4", with_system,
         "<|im_start|>system<|im_sep|>s<|im_end|><|im_start|>user<|im_sep|>a<|im_end|><|im_start|>assistant<|im_sep|>"
         "[b<|im_end|>]<|im_start|>user<|im_sep|>c<|im_end|><|im_start|>assistant<|im_sep|>[d<|im_end|>]");
  expect("deepseek", with_system,
         "<｜begin▁of▁sentence｜>s<｜User｜>a<｜Assistant｜>[b<｜end▁of▁sentence｜>]<｜User｜>c<｜Assistant｜>"
         "[d<｜end▁of▁sentence｜>]");
  EXPECT_NE(marked(PromptTemplate::named("gemma"), {with_system}).find("System role not supported"), std::string::npos);
  EXPECT_EQ(PromptTemplate::named("mistral").ends_of_turn(), std::vector<std::string>{"</s>"});
  EXPECT_EQ(PromptTemplate::named("phi3").ends_of_turn(), std::vector<std::string>{"<|end|>"});
}

TEST(ChatTargets, AFoldersNameMeansItsOwnTemplate) {
  const Folder folder(
      "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}"
      "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}");

  EXPECT_TRUE(PromptTemplate::resolve("chatml", folder.path()).is_own());
  EXPECT_TRUE(PromptTemplate::resolve("chat_template", folder.path()).is_own());
  EXPECT_FALSE(PromptTemplate::resolve("llama3", folder.path()).is_own());
  EXPECT_THROW(PromptTemplate::resolve("chat_template", token_data("gpt2")), DataError);
  EXPECT_THROW(PromptTemplate::resolve("latin", folder.path()), UsageError);
}

}  // namespace
}  // namespace multicard
