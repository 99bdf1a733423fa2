#include "text/tokenizer/NameMatch.hpp"

#include <gtest/gtest.h>

#include "support/expect_error.hpp"

namespace multicard {
namespace {

using Names = std::vector<std::string>;

TEST(WholeMatches, AreNamesThatAnExpressionMatchesFromEndToEnd) {
  const Names names{"layers.1.q_proj", "layers.10.q_proj", "layers.1.v_proj", "q_proj"};

  EXPECT_EQ(whole_matches(R"(layers\.1\..*)", names), (Names{names[0], names[2]}));
  EXPECT_EQ(whole_matches("q_proj|layers", names), Names{"q_proj"});
  EXPECT_EQ(whole_matches("q_pro", names), Names{});
}

TEST(WholeMatches, RefuseExpressionsThatAreNoneOrTakeTooLong) {
  EXPECT_THROW(whole_matches("(", {}), DataError);
  EXPECT_THROW(whole_matches("(([a-z0-9._]+)+)+[A-Z]", {"model.layers.0.self_attn.q_proj"}), DataError);
}

TEST(WholeMatches, ShowExpressionsAsTheirAuthorsWroteThem) {
  for (const char* wrong : {"(", "(([a-z0-9._]+)+)+[A-Z]"}) {
    const std::string text = test::message_of<DataError>(
        [&] { whole_matches("(.*\\.)?(" + std::string(wrong) + ")", {"model.layers.0.self_attn.q_proj"}, wrong); });
    EXPECT_EQ(text.find("the regular expression " + std::string(wrong) + " "), 0U) << text;
  }
}

}  // namespace
}  // namespace multicard
