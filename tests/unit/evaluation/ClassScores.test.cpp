#include "evaluation/ClassScores.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(ClassScores, CountAsTheDefinitionsSay) {
  const Confusion confusion{{{0, 0}, 6}, {{0, 1}, 2}, {{1, 0}, 3}, {{1, 1}, 1}, {{3, 1}, 5}};
  const std::vector<ClassScore> scores = class_scores(confusion, 4);

  ASSERT_EQ(scores.size(), 4u);
  EXPECT_EQ(scores[0].samples, 8);
  EXPECT_EQ(scores[0].predicted, 9);
  EXPECT_EQ(scores[0].correct, 6);
  EXPECT_DOUBLE_EQ(scores[0].precision(), 6.0 / 9);
  EXPECT_DOUBLE_EQ(scores[0].recall(), 6.0 / 8);
  EXPECT_DOUBLE_EQ(scores[0].f1(), 2 * (6.0 / 9) * (6.0 / 8) / (6.0 / 9 + 6.0 / 8));
  EXPECT_TRUE(std::isnan(scores[2].precision()) && std::isnan(scores[2].recall()) && std::isnan(scores[2].f1()));
  EXPECT_EQ(scores[3].recall(), 0);
  EXPECT_TRUE(std::isnan(scores[3].precision()));
  EXPECT_EQ(scores[3].f1(), 0);
}

TEST(ClassScores, TablesHaveOneRowForEachClassAndEachPair) {
  const Confusion confusion{{{0, 0}, 6}, {{1, 0}, 3}};
  const Table classes = classes_table(class_scores(confusion, 2), {"cat", "dog"});
  EXPECT_EQ(classes.text.at("name"), (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(classes.integers.at("samples"), (std::vector<std::int64_t>{6, 3}));
  EXPECT_EQ(classes.integers.at("predicted"), (std::vector<std::int64_t>{9, 0}));
  EXPECT_EQ(classes.integers.at("correct"), (std::vector<std::int64_t>{6, 0}));
  EXPECT_EQ(classes.reals.at("recall"), (std::vector<double>{1, 0}));
  const Table pairs = confusion_table(confusion);
  EXPECT_EQ(pairs.integers.at("actual"), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(pairs.integers.at("predicted"), (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(pairs.integers.at("count"), (std::vector<std::int64_t>{6, 3}));
}

}  // namespace
}  // namespace multicard
