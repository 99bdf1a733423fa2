// Which known template renders as the chat template of a model folder does.

#include <gtest/gtest.h>

#include "Data.hpp"
#include "base/Error.hpp"
#include "text/prompts/ChatTemplateFiles.hpp"
#include "text/prompts/PromptTemplate.hpp"

namespace multicard {
namespace {

using nlohmann::json;

class Folder {
 public:
  Folder() { std::filesystem::create_directories(path_); }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void write(const std::string& name, const std::string& text) const { write_file(path_ + "/" + name, text); }
  const std::string& path() const { return path_; }
  /// The name of the template, "none", or "refused".
  std::string known() const {
    try {
      const std::optional<PromptTemplate> found = PromptTemplate::of_folder(path_);
      return found ? found->name() : "none";
    } catch (const DataError&) {
      return "refused";
    }
  }

 private:
  std::string path_ = testing::TempDir() + "multicard-chat-" + std::to_string(getpid());
};

/// The name of the known template that one in tokenizer_config.json is found to be.
std::string known(const std::string& chat_template, const std::string& bos = "<|begin_of_text|>") {
  const Folder folder;
  folder.write("tokenizer_config.json", json{{"chat_template", chat_template}, {"bos_token", bos}}.dump());
  return folder.known();
}

const std::string kChatml =
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m['content'] + '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

TEST(ChatTemplate, IsFoundWhateverItsSpelling) {
  EXPECT_EQ(PromptTemplate::of_folder(token_data("smollm2"))->name(), "smollm2");
  EXPECT_EQ(known(kChatml), "chatml");
  EXPECT_EQ(known("{%- for message in messages -%}\n"
                  "    {#- each of them -#}\n"
                  "    {{- '<|im_start|>' ~ message['role'] }}\n"
                  "    {% if message.content is defined and message.content is not none -%}\n"
                  "{{ message.content | string }}\n"
                  "    {%- endif %}\n"
                  "{{- \"<|im_end|>\\n\" -}}\n"
                  "{%- endfor -%}\n"
                  "{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}\n"),
            "chatml");
  EXPECT_EQ(known("{%- if messages[0]['role'] == 'system' %}\n"
                  "    {%- set first = messages[0]['content'] %}\n"
                  "    {%- set rest = messages[1:] %}\n"
                  "{%- else %}\n"
                  "    {%- set first = 'You are a helpful assistant.' %}\n"
                  "    {%- set rest = messages %}\n"
                  "{%- endif %}\n"
                  "{%- if tools %}{{- raise_exception('no tools') }}{%- endif %}\n"
                  "{{- '<|im_start|>system\\n' + first + '<|im_end|>\\n' }}\n"
                  "{%- for message in rest %}\n"
                  "    {%- if message.role in ['system', 'user', 'assistant'] and not message.tool_calls %}\n"
                  "        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}\n"
                  "    {%- elif loop.last %}{{ message.tool_calls | tojson }}{%- endif %}\n"
                  "{%- endfor %}\n"
                  "{%- if add_generation_prompt %}\n"
                  "    {{- '<|im_start|>assistant\\n' }}\n"
                  "{%- endif %}\n"),
            "qwen2");
}

TEST(ChatTemplate, Llama3TrimsAndLaterOnesDate) {
  const std::string turn =
      "'<|start_header_id|>' + m['role'] + '<|end_header_id|>\n\n' + m['content'] | trim + '<|eot_id|>'";
  const std::string open =
      "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}";
  const std::string llama3 = "{% for m in messages %}{% set text = " + turn +
                             " %}{% if loop.index0 == 0 %}{% set text = bos_token + text %}{% endif %}{{ text }}"
                             "{% endfor %}" +
                             open;
  EXPECT_EQ(known(llama3), "llama3");
  EXPECT_EQ(known(llama3, "<s>"), "chat_template");
  EXPECT_EQ(
      known("{{- bos_token }}{% if not date is defined %}{% if strftime_now is defined %}"
            "{% set date = strftime_now('%d %b %Y') %}{% else %}{% set date = '26 Jul 2024' %}{% endif %}{% endif %}"
            "{% if messages[0].role == 'system' %}{% set system = messages[0].content | trim %}"
            "{% set messages = messages[1:] %}{% else %}{% set system = '' %}{% endif %}"
            "{{ '<|start_header_id|>system<|end_header_id|>\\n\\n' + 'Cutting Knowledge Date: December 2023\\n' }}"
            "{{ 'Today Date: ' + date + '\\n\\n' + system + '<|eot_id|>' }}"
            "{% for m in messages %}{{ " +
            turn + " }}{% endfor %}" + open),
      "llama3.1");
}

TEST(ChatTemplate, OthersAreTheFoldersOwn) {
  EXPECT_EQ(known("{{ bos_token }}{% for m in messages %}[INST] {{ m.content }} [/INST]{% endfor %}"), "chat_template");
  EXPECT_EQ(known("{{ raise_exception('never') }}"), "chat_template");
  EXPECT_EQ(known("{% macro f(x) %}{% endmacro %}"), "chat_template");
  EXPECT_EQ(known(""), "chat_template");
}

TEST(ChatTemplate, ThoseThatCannotBeUsedAreRefused) {
  EXPECT_EQ(known("{% for"), "refused");
  EXPECT_EQ(known("{% include 'x' %}"), "refused");
  EXPECT_EQ(known("{{ " + std::string(100000, '(')), "refused");
  EXPECT_EQ(known("{{ " + std::string(100000, '(') + "}}"), "refused");
  std::string nested, loops;
  for (int i = 0; i < 2000; ++i)
    nested += "{% if true %}";
  for (int i = 0; i < 40; ++i)
    loops += "{% for a in [1,2,3] %}";
  for (int i = 0; i < 40; ++i)
    loops += "{% endfor %}";
  EXPECT_EQ(known(nested), "refused");
  EXPECT_EQ(known(loops), "chat_template");  // which renders nothing
  const Folder folder;
  folder.write("chat_template.jinja", loops);
  EXPECT_THROW(PromptTemplate::of_folder(folder.path())->conversation({{Message{"user", "a"}}}, Turn::open), DataError);
}

TEST(ChatTemplate, NearlyKnownOnesAreUnknown) {
  const std::string turn = "{{ '<|im_start|>' + m.role + '\\n' + text + '<|im_end|>\\n' }}";
  const std::string open = "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";
  const auto with_body = [&](const std::string& body) {
    return known("{% for m in messages %}{% set text = m.content %}" + body + "{% endfor %}" + open);
  };
  EXPECT_EQ(with_body(turn), "chatml");
  EXPECT_EQ(with_body("{% if m.content %}" + turn + "{% endif %}"), "chat_template");
  EXPECT_EQ(with_body("{% if m.role == 'system' or m.content %}" + turn + "{% endif %}"), "chat_template");
  EXPECT_EQ(with_body("{% if m.role != 'system' or m.content %}" + turn + "{% endif %}"), "chat_template");
  EXPECT_EQ(with_body("{% if m.role != 'system' or loop.first %}" + turn + "{% endif %}"), "chat_template");
  EXPECT_EQ(with_body("{% if m.role == 'assistant' and '</think>' in text %}"
                      "{% set text = text.split('</think>')[-1] %}{% endif %}" +
                      turn),
            "chat_template");
  EXPECT_EQ(with_body("{% if '</think>' in text and not loop.last %}{% set text = '' %}{% endif %}" + turn),
            "chat_template");
}

TEST(ChatTemplate, StandsInOneOfThreeFiles) {
  const Folder folder;
  EXPECT_EQ(folder.known(), "none");
  folder.write("tokenizer_config.json", "{}");
  EXPECT_EQ(folder.known(), "none");
  folder.write("tokenizer_config.json", json{{"chat_template", json::array()}}.dump());
  EXPECT_EQ(folder.known(), "refused");
  folder.write("tokenizer_config.json", "{}");
  folder.write("chat_template.json", json{{"chat_template", kChatml}}.dump());
  EXPECT_EQ(folder.known(), "chatml");
  json list = json::array({{{"name", "tool_use"}, {"template", "x"}}, {{"name", "default"}, {"template", "y"}}});
  folder.write("tokenizer_config.json", json{{"chat_template", list}}.dump());
  EXPECT_EQ(folder.known(), "chat_template");
  list[1]["template"] = kChatml;
  folder.write("tokenizer_config.json", json{{"chat_template", list}}.dump());
  EXPECT_EQ(folder.known(), "chatml");
  folder.write("chat_template.jinja", "z");
  EXPECT_EQ(folder.known(), "chat_template");
}

TEST(ChatTemplate, ForToolsMayBeAFileOfItsOwn) {
  const Folder folder;
  folder.write("chat_template.jinja", kChatml);
  std::filesystem::create_directories(folder.path() + "/additional_chat_templates");
  folder.write("additional_chat_templates/tool_use.jinja", "{{ tools | tojson }}");
  const auto own = PromptTemplate::of_folder(folder.path());
  ASSERT_TRUE(own);
  EXPECT_TRUE(own->uses("tools"));
}

TEST(ChatTemplate, HasTheSpecialTokensOfOlderFolders) {
  const Folder folder;
  folder.write("tokenizer_config.json", R"({"eos_token": "<old>"})");
  folder.write("special_tokens_map.json", R"({"eos_token": {"content": "<end>"}, "bos_token": "<s>"})");
  using Specials = TemplateSpecials;
  EXPECT_EQ(template_specials(folder.path()), (Specials{{"bos_token", "<s>"}, {"eos_token", "<end>"}}));
  folder.write("tokenizer_config.json", R"({"eos_token": "<new>", "added_tokens_decoder": {"0": {"content": "x"}}})");
  EXPECT_EQ(template_specials(folder.path()), (Specials{{"eos_token", "<new>"}}));
}

}  // namespace
}  // namespace multicard
