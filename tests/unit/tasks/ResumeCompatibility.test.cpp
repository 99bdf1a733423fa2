#include "tasks/options/ResumeCompatibility.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "tasks/options/RunOptions.hpp"

namespace multicard {
namespace {

Deck deck(const std::vector<std::string>& overrides = {}) {
  Deck made = Deck::parse("task: image\ndata: {train: a.h5}\noptimizer: {name: sgd, learning_rate: 0.1}\n", "test");
  made.apply(parse_overrides(overrides));
  return with_defaults(made);
}

TEST(ResumeCompatibility, AllowsOtherRanksLoadersAndLengths) {
  EXPECT_NO_THROW(check_resume_compatibility(deck(), deck()));
  EXPECT_NO_THROW(
      check_resume_compatibility(deck(), deck({"run.epochs=9", "data.workers=3", "parallel.overlap=false"})));
}

TEST(ResumeCompatibility, NamesTheKeyThatChanged) {
  try {
    check_resume_compatibility(deck(), deck({"optimizer.learning_rate=0.2"}));
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("optimizer.learning_rate has changed from 0.1 to 0.2"), std::string::npos)
        << error.what();
  }
  EXPECT_THROW(check_resume_compatibility(deck(), deck({"model.width=0.5"})), UsageError);
  EXPECT_THROW(check_resume_compatibility(deck(), deck({"run.seed=2"})), UsageError);
  EXPECT_THROW(check_resume_compatibility(deck(), deck({"data.image_size=64"})), UsageError);
}

TEST(ResumeCompatibility, KnowsWhatRunsDidBeforeAKeyCame) {
  Deck old = Deck::parse("task: image\ndata: {train: a.h5}\noptimizer: {name: sgd, learning_rate: 0.1}\n", "test");
  const Deck now = with_defaults(old);
  for (const DeckKey& key : run_keys())
    if (const std::string text = now.get_text(key.path); !text.empty() && !key.path.starts_with("parallel.powersgd"))
      old.apply(parse_overrides({fmt::format("{}={}", key.path, text)}));
  ASSERT_EQ(old.get_text("parallel.powersgd_rank"), "");
  EXPECT_NO_THROW(check_resume_compatibility(old, now));
  EXPECT_THROW(check_resume_compatibility(old, deck({"parallel.powersgd_rank=2"})), UsageError);
}

TEST(ResumeCompatibility, TakesAnEmptyListOrMapForAKeyThatIsNotSet) {
  const auto tuning = [](const std::string& method) {
    return with_defaults(
        Deck::parse("task: llm\nmodel: {path: m}\ndata: {train: t.h5}\nmethod: {name: lora" + method + "}\n", "test"));
  };
  const Deck without = tuning("");

  for (const char* key : {"modules_to_save: []", "rank_pattern: {}", "alpha_pattern: {}"}) {
    const Deck with_empty = tuning(std::string(", ") + key);
    EXPECT_NO_THROW(check_resume_compatibility(without, with_empty)) << key;
    EXPECT_NO_THROW(check_resume_compatibility(with_empty, without)) << key;
  }
  EXPECT_THROW(check_resume_compatibility(tuning(", modules_to_save: []"), tuning(", modules_to_save: [norm]")),
               UsageError);
}

}  // namespace
}  // namespace multicard
