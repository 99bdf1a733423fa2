// Which known format the chat template of a model folder renders.

#include <gtest/gtest.h>

#include "Data.hpp"
#include "base/Error.hpp"
#include "text/Jinja.hpp"
#include "text/PromptTemplate.hpp"

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
  std::string known() const {
    const std::optional<PromptTemplate> found = PromptTemplate::of_folder(path_);
    return found ? found->name() : PromptTemplate::has_chat_template(path_) ? "unknown" : "none";
  }

 private:
  std::string path_ = testing::TempDir() + "multicard-chat-" + std::to_string(getpid());
};

/// The format that a chat template in tokenizer_config.json is found to be.
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
  EXPECT_EQ(known(llama3, "<s>"), "unknown");
  EXPECT_EQ(
      known("{{- bos_token }}{% if not date is defined %}{% if strftime_now is defined %}"
            "{% set date = strftime_now('%d') %}{% else %}{% set date = '26 Jul 2024' %}{% endif %}{% endif %}"
            "{% if messages[0].role == 'system' %}{% set system = messages[0].content | trim %}"
            "{% set messages = messages[1:] %}{% else %}{% set system = '' %}{% endif %}"
            "{{ '<|start_header_id|>system<|end_header_id|>\\n\\n' + 'Cutting Knowledge Date: December 2023\\n' }}"
            "{{ 'Today Date: ' + date + '\\n\\n' + system + '<|eot_id|>' }}"
            "{% for m in messages %}{{ " +
            turn + " }}{% endfor %}" + open),
      "llama3.1");
}

TEST(ChatTemplate, OthersAreThereButUnknown) {
  EXPECT_EQ(known("{{ bos_token }}{% for m in messages %}[INST] {{ m.content }} [/INST]{% endfor %}"), "unknown");
  EXPECT_EQ(known("{{ raise_exception('never') }}"), "unknown");
  EXPECT_EQ(known("{% macro f(x) %}{% endmacro %}"), "unknown");
  EXPECT_EQ(known("{% for"), "unknown");
  EXPECT_EQ(known(""), "unknown");
  EXPECT_EQ(known(std::string(100000, '(')), "unknown");
  EXPECT_EQ(known("{{ " + std::string(100000, '(')), "unknown");
  EXPECT_EQ(known("{{ " + std::string(100000, '(') + "}}"), "unknown");
  std::string nested, loops;
  for (int i = 0; i < 2000; ++i)
    nested += "{% if true %}";
  for (int i = 0; i < 40; ++i)
    loops += "{% for a in [1,2,3] %}";
  for (int i = 0; i < 40; ++i)
    loops += "{% endfor %}";
  EXPECT_EQ(known(nested), "unknown");
  EXPECT_EQ(known(loops), "unknown");
}

TEST(ChatTemplate, NearlyKnownOnesAreUnknown) {
  const std::string turn = "{{ '<|im_start|>' + m.role + '\\n' + text + '<|im_end|>\\n' }}";
  const std::string open = "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";
  const auto with_body = [&](const std::string& body) {
    return known("{% for m in messages %}{% set text = m.content %}" + body + "{% endfor %}" + open);
  };
  EXPECT_EQ(with_body(turn), "chatml");
  EXPECT_EQ(with_body("{% if m.content %}" + turn + "{% endif %}"), "unknown");
  EXPECT_EQ(with_body("{% if m.role == 'system' or m.content %}" + turn + "{% endif %}"), "unknown");
  EXPECT_EQ(with_body("{% if m.role != 'system' or m.content %}" + turn + "{% endif %}"), "unknown");
  EXPECT_EQ(with_body("{% if m.role != 'system' or loop.first %}" + turn + "{% endif %}"), "unknown");
  EXPECT_EQ(with_body("{% if m.role == 'assistant' and '</think>' in text %}"
                      "{% set text = text.split('</think>')[-1] %}{% endif %}" +
                      turn),
            "unknown");
  EXPECT_EQ(with_body("{% if '</think>' in text and not loop.last %}{% set text = '' %}{% endif %}" + turn), "unknown");
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i)
    all += text;
  return all;
}

TEST(Jinja, RefusesLongChains) {
  const json variables = {{"a", "a"}, {"list", {1}}};
  constexpr int kMany = 20000;
  for (const char* link : {".a", "[0]", "|trim", " + a", " ~ a", " or a", " and a", " == a", " % 1", " is defined",
                           "(1)", "[1:]", " if a else a"})
    EXPECT_THROW(JinjaTemplate("{{ a" + repeated(link, kMany) + " }}"), JinjaError) << link;
  EXPECT_THROW(JinjaTemplate("{% if 0 %}" + repeated("{% elif 0 %}", kMany) + "{% endif %}"), JinjaError);
  EXPECT_EQ(JinjaTemplate("{{ a" + repeated(" + a", 400) + " }}").render(variables), std::string(401, 'a'));
  EXPECT_EQ(JinjaTemplate("{{ " + repeated("not ", kMany) + "a is defined and 'b' }}").render(variables), "b");
}

TEST(Jinja, RefusesValuesThatGrow) {
  const json variables = {{"messages", json::array()}};
  const std::string letters = "{% set x = 'aaaaaaaaaaaaaaaa' %}";
  EXPECT_EQ(JinjaTemplate(letters + repeated("{% set x = x ~ x %}", 3) + "{{ x }}").render(variables),
            std::string(128, 'a'));
  EXPECT_THROW(JinjaTemplate(letters + repeated("{% set x = x ~ x %}", 60)).render(variables), JinjaError);
  EXPECT_THROW(JinjaTemplate(letters + repeated("{% set x = x + x %}", 60)).render(variables), JinjaError);
  EXPECT_THROW(JinjaTemplate(letters + repeated("{% set x = x ~ x %}", 16) + repeated("{{ x ~ 'b' in x }}", 40))
                   .render(variables),
               JinjaError);
  EXPECT_THROW(
      JinjaTemplate("{% set x = [1] %}" + repeated("{% set x = [x, x, x, x, x, x, x, x] %}", 12)).render(variables),
      JinjaError);
  EXPECT_THROW(JinjaTemplate("{% set x = 1 %}" + repeated("{% set x = [x] %}", 10000)).render(variables), JinjaError);
  EXPECT_THROW(JinjaTemplate("{% set x = namespace(a=1) %}" + repeated("{% set x.a = [x, x] %}", 60)).render(variables),
               JinjaError);
}

TEST(ChatTemplate, StandsInOneOfThreeFiles) {
  const Folder folder;
  EXPECT_EQ(folder.known(), "none");
  folder.write("tokenizer_config.json", "{}");
  EXPECT_EQ(folder.known(), "none");
  folder.write("chat_template.json", json{{"chat_template", kChatml}}.dump());
  EXPECT_EQ(folder.known(), "chatml");
  json list = json::array({{{"name", "tool_use"}, {"template", "x"}}, {{"name", "default"}, {"template", "y"}}});
  folder.write("tokenizer_config.json", json{{"chat_template", list}}.dump());
  EXPECT_EQ(folder.known(), "unknown");
  list[1]["template"] = kChatml;
  folder.write("tokenizer_config.json", json{{"chat_template", list}}.dump());
  EXPECT_EQ(folder.known(), "chatml");
  folder.write("chat_template.jinja", "z");
  EXPECT_EQ(folder.known(), "unknown");
}

TEST(Jinja, RendersAsJinja) {
  const json variables = {{"list", {1, 2, 3}}, {"text", "ab"}, {"object", {{"key", "value"}}}, {"nothing", nullptr}};
  const auto expect = [&](const char* source, const char* result) {
    EXPECT_EQ(JinjaTemplate(source).render(variables), result) << source;
  };
  expect("a\n", "a");
  expect("a\n\n", "a\n");
  expect("  {% if true %}  \n x\n  {% endif %}\ny", "  \n x\ny");
  expect("a {{- ' b ' -}}\n c", "a b c");
  expect("a\n  {# no #}\nb", "a\nb");
  expect("{% for i in list %}{% if loop.first %}<{% elif loop.last %}>{% else %}-{% endif %}{{ i }}{% endfor %}",
         "<1-2>3");
  expect("{{ 'yes' if text == 'ab' and not missing else 'no' }}{{ 'x' if nothing }}", "yes");
  expect("{{ object.key ~ object['key'] ~ missing ~ list[-1] ~ (1 + 2) ~ 7 % 4 }}", "valuevalue333");
  expect("{{ list[1:] | length }}{{ list[:-1] | length }}{{ list | length }}", "223");
  expect("{% set ns = namespace(n=0) %}{% for i in list %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}", "6");
  expect("{% set x = 'a' %}{% for i in list %}{% set x = 'b' %}{% endfor %}{{ x }}", "a");
}

TEST(Jinja, RefusesWhatItCannotRender) {
  for (const char* source : {"{{ list }}", "{{ nothing.x }}", "{{ f() }}", "{{ text | tojson }}", "{% include 'x' %}",
                             "{{ text[0:1] }}", "{{ 1 / 2 }}", "{{ 'a }}", "{% if true %}", "{{ a b }}", "{{ }}"})
    EXPECT_THROW(JinjaTemplate(source).render({{"list", {1}}, {"text", "ab"}, {"nothing", nullptr}}), JinjaError)
        << source;
}

}  // namespace
}  // namespace multicard
