#include "tasks/options/KeyCard.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "config/Deck.hpp"

namespace multicard {
namespace {

/// What a reader of decks has against the example of a key; empty: nothing.
std::string objection(const DescribedKey& key) {
  const bool is_text =
      key.key.tasks == KeyTasks::llm || key.key.path == "parallel.shard";  // which splits frozen weights
  Deck deck = Deck::parse(is_text ? "{task: llm, model: {path: m}, data: {train: t}}" : "{task: image}", "deck");
  std::vector<std::string> overrides = example_of(key);
  for (std::string& word : overrides)
    std::erase(word, '\'');  // the shell's
  try {
    deck.apply(parse_overrides(overrides));
    read_run_options(deck);
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

TEST(KeyCard, ExamplesAreAcceptedAndAreNotTheDefault) {
  for (const DescribedKey& key : describe_run_keys()) {
    EXPECT_EQ(objection(key), "") << key.key.path << ": " << join(example_of(key), " ");
    EXPECT_EQ(example_of(key).front().rfind(std::string(key.key.path) + "=", 0), 0U);
    EXPECT_NE(example_of(key).front(), std::string(key.key.path) + "=") << key.key.path;
  }
}

TEST(KeyCard, ShowsAKeyWithAnExampleAndItsPlace) {
  const std::vector<DescribedKey> found = keys_named("optimizer.nesterov");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(key_card(found.front()),
            "optimizer.nesterov\n"
            "  meaning   sgd with momentum\n"
            "  type      boolean\n"
            "  default   false\n"
            "  effect    the same work learns something else; a run resumes only with the same value\n"
            "  example   multicard run inputs/image/tiny.yaml optimizer.nesterov=true optimizer.momentum=0.9\n"
            "  document  docs/decks.md, \"optimizer\"\n");
}

std::vector<std::string> named(const std::string& name) {
  std::vector<std::string> paths;
  for (const DescribedKey& key : keys_named(name))
    paths.emplace_back(key.key.path);
  return paths;
}

TEST(KeyCard, FindsKeysByPathSectionOtherNameAndLastPart) {
  EXPECT_EQ(named("run.steps"), std::vector<std::string>{"run.steps"});
  EXPECT_EQ(named("data.augment").size(), 3U);
  EXPECT_EQ(named("batch_size"), std::vector<std::string>{"run.global_batch"});
  EXPECT_EQ(named("optim.lr"), std::vector<std::string>{"optimizer.learning_rate"});
  EXPECT_EQ(named("label_smoothing"),
            (std::vector<std::string>{"method.label_smoothing", "optimizer.label_smoothing"}));
  EXPECT_TRUE(named("qqq").empty());
}

TEST(KeyCard, KnowsTheWordsOfAKey) {
  EXPECT_EQ(words_of({"`host`, `device`", ""}), (std::vector<std::string>{"host", "device"}));
  EXPECT_EQ(words_of({"boolean", ""}), (std::vector<std::string>{"true", "false"}));
  EXPECT_EQ(words_of({"integer, 1 ≤ x ≤ 9, or `auto`", ""}), std::vector<std::string>{"auto"});
  EXPECT_TRUE(words_of({"path", ""}).empty());
}

}  // namespace
}  // namespace multicard
