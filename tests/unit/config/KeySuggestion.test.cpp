#include "config/KeySuggestion.hpp"

#include <gtest/gtest.h>

namespace multicard {
namespace {

const KeysBySection kRead{
    {"", {"task", "model", "data"}}, {"model", {"path", "dtype"}}, {"data", {"train", "overlong", "limit", "layout"}}};
const std::vector<KnownKey> kTable{
    {"model.path", ""}, {"model.width", "of task image"}, {"method.rank", "of task llm"}};

std::string suggested(const std::string& section, const std::string& key) {
  return suggested_key(kRead, kTable, section, key).value_or("");
}

TEST(KeySuggestion, IsTheMostSimilarKeyThatWasReadInTheSection) {
  EXPECT_EQ(suggested("model", "paht"), "path");
  EXPECT_EQ(suggested("", "taks"), "task");
}

TEST(KeySuggestion, KnowsThePeersNames) {
  EXPECT_EQ(suggested("data", "truncation"), "overlong");
  EXPECT_EQ(suggested("data", "max_samples"), "limit");
  EXPECT_EQ(suggested("model", "channels_last"), "data.layout");
}

TEST(KeySuggestion, NamesTheSectionThatHasTheKey) {
  EXPECT_EQ(suggested("model", "train"), "data.train");
}

TEST(KeySuggestion, NamesKeysThatOnlyOtherDecksHave) {
  EXPECT_EQ(suggested("model", "widht"), "width (of task image)");
  EXPECT_EQ(suggested("data", "rank"), "method.rank (of task llm)");
  EXPECT_EQ(suggested("data", "qqqqqq"), "");
}

TEST(KeySuggestion, OfASectionThatThereIsNotIsWhereItsKeysStand) {
  const auto of = [](const std::vector<std::string>& keys) { return suggested_for_section(kRead, keys).value_or(""); };
  EXPECT_EQ(of({"qqq", "dtype"}), "model.dtype");
  EXPECT_EQ(of({"model_name_or_path"}), "model.path");
  EXPECT_EQ(of({"r"}), "");  // of a section that this deck cannot have
}

}  // namespace
}  // namespace multicard
