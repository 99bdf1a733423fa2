// Tables as records, whatever pieces they are taken in.
#include "prepare/records/CsvRecords.hpp"

#include <gtest/gtest.h>

#include "base/CsvFields.hpp"
#include "base/Error.hpp"
#include "unit/prepare/scan.hpp"

namespace multicard {
namespace {

using test::Numbers;
using test::Texts;

test::Found scan(const std::string& file) {
  return test::scan(CsvScanner(','), file);
}

TEST(CsvScanner, FindsRowsWithTheirLines) {
  const test::Found found = scan(
      "\xef\xbb\xbf"
      "a,b\r\n1,2\r\n\r\n\"x\ny\r\n\"\"z\"\"\",3\n,\n last ,\"\"");
  EXPECT_EQ(found.texts, (Texts{"a,b", "1,2", "\"x\ny\r\n\"\"z\"\"\",3", ",", " last ,\"\""}));
  EXPECT_EQ(found.lines, (Numbers{1, 2, 4, 7, 8}));
  EXPECT_EQ(found.problem, "");
}

TEST(CsvScanner, TakesQuotesOnlyAtTheBeginningOfAField) {
  EXPECT_EQ(scan("a,5\"\nb,c\n").texts, (Texts{"a,5\"", "b,c"}));
}

TEST(CsvScanner, SaysWhichQuoteIsNotClosed) {
  EXPECT_EQ(scan("a,b\n1,\"2\n3,4\n").problem,
            "it is truncated: a quoted field of the row that begins in line 2 does not end");
}

TEST(CsvRecord, NamesItsFields) {
  const Texts header = csv_header("question,answer", ',', "line 1 of F");
  EXPECT_EQ(csv_record(header, "\"1\n2\",3", ',', "line 2 of F"), "{\"answer\":\"3\",\"question\":\"1\\n2\"}");
  try {
    csv_record(header, "1,2,3", ',', "line 2 of F");
    FAIL();
  } catch (const DataError& error) {
    EXPECT_EQ(error.problem(), "line 2 of F has 3 fields, the header 2");
  }
}

TEST(CsvSeparator, FollowsTheName) {
  EXPECT_EQ(csv_separator("x/a.csv"), ',');
  EXPECT_EQ(csv_separator("x/a.csv.gz"), ',');
  EXPECT_EQ(csv_separator("a.tsv"), '\t');
  EXPECT_EQ(csv_separator("a.csv.jsonl"), std::nullopt);
}

}  // namespace
}  // namespace multicard
