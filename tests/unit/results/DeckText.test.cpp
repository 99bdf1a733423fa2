#include "results/DeckText.hpp"

#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(DeckText, DecksAreReadByPath) {
  const std::string deck =
      "precision: fp32\nmodel:\n  path: a\n  parts:\n    rank: 3\nmethod:\n  rank: 8\n  dropout:\n";

  EXPECT_EQ(deck_value(deck, "precision"), "fp32");
  EXPECT_EQ(deck_value(deck, "method.rank"), "8");
  EXPECT_EQ(deck_value(deck, "model.parts.rank"), "3");
  EXPECT_EQ(deck_value(deck, "model.rank"), "");
  EXPECT_EQ(deck_value(deck, "method.dropout"), "");
}

}  // namespace
}  // namespace multicard
