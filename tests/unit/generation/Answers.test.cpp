// What ends an answer: the ends of the folder's files and of the template that was learnt.
#include "generation/Answers.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "io/Bytes.hpp"
#include "support/test_world.hpp"
#include "tasks/language/ProvenanceMetadata.hpp"
#include "unit/data/test_tokenizer.hpp"

namespace multicard {
namespace {

bool holds(const std::vector<std::int64_t>& ids, std::int64_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

TEST(Prompter, EndsAnAnswerWhereTheTemplateEndsATurn) {
  const test::ScratchFolder scratch;
  const std::string folder = scratch / "model";
  test::write_byte_tokenizer(folder);

  const auto chat = Prompter(folder, "chatml").end_ids(), alpaca = Prompter(folder, "alpaca").end_ids();

  EXPECT_TRUE(holds(chat, test::kImEnd));
  EXPECT_FALSE(holds(alpaca, test::kImEnd));
  for (const auto& ends : {chat, alpaca})
    EXPECT_TRUE(holds(ends, test::kEos));
}

TEST(Prompter, LeavesWhatTheModelIsToWriteOpen) {
  const test::ScratchFolder scratch;
  const std::string folder = scratch / "model";
  test::write_byte_tokenizer(folder);
  const Prompter prompter(folder, "chatml");

  const std::vector<TokenId> prompt = prompter.encode("Hi");

  EXPECT_EQ(prompt.front(), test::kBos);
  EXPECT_EQ(prompter.tokenizer()->decode(prompt, DecodeSpecial::keep),
            "<s><|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(prompter.encode_raw("Hi"), (std::vector<TokenId>{test::kBos, 'H', 'i'}));
}

TEST(Prompter, WritesTheDateWhereTheTemplateAsksForIt) {
  const test::ScratchFolder scratch;
  const std::string folder = scratch / "model";
  test::write_byte_tokenizer(folder);
  write_file(folder + "/chat_template.jinja", "{{ strftime_now('%d %b %Y') }}:{{ messages[0].content }}");
  const auto shown = [&](const std::string& name, const std::string& date) {
    const Prompter prompter(folder, name, date);
    return prompter.tokenizer()->decode(prompter.encode("Hi"), DecodeSpecial::skip);
  };

  EXPECT_EQ(shown("chat_template", ""), "26 Jul 2024:Hi");
  EXPECT_EQ(shown("chat_template", TemplateDate::kDefault), "26 Jul 2024:Hi");
  EXPECT_EQ(shown("chat_template", "2026-02-03"), "03 Feb 2026:Hi");
  EXPECT_EQ(shown("alpaca", "2026-02-03"), shown("alpaca", ""));
}

TEST(ProvenanceMetadata, GoesIntoTheHeaderOfExportedWeights) {
  const SafetensorsMetadata dated = metadata_of({"chat_template", "2026-02-03", std::nullopt});

  EXPECT_EQ(dated.at("multicard_template"), "chat_template");
  EXPECT_EQ(dated.at("multicard_template_date"), "2026-02-03");
  EXPECT_EQ(metadata_of({}).size(), 1u);
}

}  // namespace
}  // namespace multicard
