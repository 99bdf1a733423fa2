// Which template prepare text uses, and what it does with it.
#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "data/shards/TokenShards.hpp"
#include "io/Bytes.hpp"
#include "unit/data/text_folder.hpp"

namespace multicard {
namespace {

using namespace test;

class TextTemplates : public TextFolder {
 protected:
  void expect_error(const TextPrepareOptions& options, const std::string& text, ExitCode code = ExitCode::data) const {
    try {
      prepare_text(options, world());
      ADD_FAILURE() << "no error with: " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  }
};

TEST_F(TextTemplates, AFoldersOwnTemplateIsRendered) {
  const std::string input = write("c.jsonl", R"({"messages": [{"role": "user", "content": "q"}, )"
                                             R"({"role": "assistant", "content": "a", "reasoning_content": "hm"}, )"
                                             R"({"role": "user", "content": "r"}, )"
                                             R"({"role": "assistant", "content": "b", "train": false}]})");
  on_root([&] {
    write_text(scratch_ / "model/chat_template.jinja",
               "{{ bos_token }}{% for m in messages %}{{ '<' + m.role[0] + '>' + m.content | trim }}{% endfor %}"
               "{% if add_generation_prompt %}<a>{% endif %}");
  });
  TextPrepareOptions own = options("chat", input, "rendered");

  const TextPrepareResult result = prepare_text(own, world());

  EXPECT_EQ(result.template_name, "chat_template");
  EXPECT_EQ(result.counts.num_dropped_reasoning, 1);
  const Hdf5File file = Hdf5File::open_read(result.files.front());
  EXPECT_EQ(file.attribute<std::string>("/", "template"), "chat_template");
  EXPECT_EQ(shown(read_arrays(file, "")), std::vector<std::string>{"<s><u>q<a>[[a]]<u>r<a>b"});
}

TEST_F(TextTemplates, ATemplateThatCannotBeUsedIsRefusedUnlessAnotherIsNamed) {
  const std::string input = write("c.jsonl", R"({"messages": [{"role": "system", "content": "s"}, )"
                                             R"({"role": "assistant", "content": "a"}]})");
  TextPrepareOptions own = options("chat", input, "broken");
  on_root([&] { write_text(scratch_ / "model/chat_template.jinja", "{% include 'x' %}"); });
  expect_error(own, "include");
  on_root([&] { write_text(scratch_ / "model/chat_template.jinja", "{{ raise_exception('no system') }}"); });
  expect_error(
      own, "line 1 of " + input + ": the chat template of " + scratch_ / "model" + " does not render it (no system) ");

  own.prompt_template = "chatml";

  EXPECT_EQ(prepare_text(own, world()).template_name, "chatml");
}

TEST_F(TextTemplates, TheDateIsTheOneThatIsGiven) {
  const std::string input = write("d.jsonl", R"({"messages": [{"role": "user", "content": "q"}, )"
                                             R"({"role": "assistant", "content": "a"}]})");
  on_root([&] {
    write_text(scratch_ / "model/chat_template.jinja",
               "{{ strftime_now('%d %b %Y %-d|%j|%a') }}{% for m in messages %};{{ m.content }}{% endfor %}");
  });
  TextPrepareOptions dated = options("chat", input, "dated");
  dated.date = "2026-02-03";

  const Hdf5File file = Hdf5File::open_read(prepare_text(dated, world()).files.front());
  const Hdf5File without = Hdf5File::open_read(prepare_text(options("chat", input, "fixed"), world()).files.front());

  EXPECT_EQ(shown(read_arrays(file, "")), std::vector<std::string>{"03 Feb 2026 3|034|Tue;q[[;a]]"});
  EXPECT_EQ(file.attribute<std::string>("/", "template_date"), "2026-02-03");
  EXPECT_EQ(shown(read_arrays(without, "")), std::vector<std::string>{"26 Jul 2024 26|208|Fri;q[[;a]]"});
  EXPECT_FALSE(without.has_attribute("/", "template_date"));
}

TEST_F(TextTemplates, ADateThatIsNoneOrHasNoEffectIsRefused) {
  const std::string input = write("d.jsonl", R"({"messages": [{"role": "user", "content": "q"}]})");
  TextPrepareOptions dated = options("chat", input, "dated");
  dated.prompt_template = "chatml";
  for (const char* date :
       {"2026-02-29", "2026-2-3", "03.02.2026", "today", "2026-02-03x", "0000-01-01", "2026-13-01"}) {
    dated.date = date;
    expect_error(dated, "--date " + dated.date + " is not a date", ExitCode::usage);
  }
  dated.date = "2026-02-03";
  expect_error(dated, "--date has no effect", ExitCode::usage);
}

}  // namespace
}  // namespace multicard
