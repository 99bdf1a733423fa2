// Which template prepare text uses, and what it does with it.
#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "data/TextPrepare.hpp"
#include "data/TokenShards.hpp"
#include "io/Bytes.hpp"
#include "support/test_world.hpp"
#include "unit/data/test_tokenizer.hpp"

namespace multicard {
namespace {

using namespace test;

class TextTemplates : public testing::Test {
 protected:
  TextTemplates() {
    on_root([&] { write_byte_tokenizer(scratch_ / "model"); });
  }

  template <class Body>
  void on_root(Body&& body) const {
    if (world().is_root()) body();
    world().barrier();
  }
  std::string write(const std::string& name, const std::string& text) const {
    on_root([&] { write_text(scratch_ / name, text); });
    return scratch_ / name;
  }
  TextPrepareOptions options(const std::string& type, const std::string& input, const std::string& output) const {
    TextPrepareOptions options;
    options.type = type;
    options.inputs = {input};
    options.output = scratch_ / output;
    options.quiet = true;
    options.tokenizer = scratch_ / "model";
    return options;
  }
  void expect_error(const TextPrepareOptions& options, const std::string& text) const {
    try {
      prepare_text(options, world());
      ADD_FAILURE() << "no error with: " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::data);
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  }

  ScratchFolder scratch_;
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

}  // namespace
}  // namespace multicard
