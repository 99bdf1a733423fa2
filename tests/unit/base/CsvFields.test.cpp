#include "base/CsvFields.hpp"

#include <gtest/gtest.h>

#include "base/Error.hpp"

namespace multicard {
namespace {

using Texts = std::vector<std::string>;

TEST(CsvFields, AreUnquoted) {
  EXPECT_EQ(csv_fields("a,\"b,c\",\"say \"\"hi\"\"\",\"x\ny\",,", ',', "row"),
            (Texts{"a", "b,c", "say \"hi\"", "x\ny", "", ""}));
  EXPECT_EQ(csv_fields("a,b\tc", '\t', "row"), (Texts{"a,b", "c"}));
  EXPECT_THROW(csv_fields("\"a\"b,c", ',', "row"), DataError);
  EXPECT_THROW(csv_fields("a\xff", ',', "row"), DataError);
}

TEST(CsvFields, NeedAClosingQuote) {
  EXPECT_THROW(csv_fields("a,\"b", ',', "row"), DataError);
  EXPECT_THROW(csv_fields("a,\"b\"\"", ',', "row"), DataError);
}

TEST(CsvHeader, NamesEveryColumnOnce) {
  EXPECT_EQ(csv_header("question,answer", ',', "line 1 of F"), (Texts{"question", "answer"}));
  EXPECT_THROW(csv_header("a,,b", ',', "line 1 of F"), DataError);
  EXPECT_THROW(csv_header("a,b,a", ',', "line 1 of F"), DataError);
}

}  // namespace
}  // namespace multicard
