#include "base/CsvTable.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "support/expect_error.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

class CsvTableTest : public ::testing::Test {
 protected:
  CsvTable table(const std::string& content) {
    std::ofstream(path_, std::ios::binary) << content;
    return CsvTable(path_);
  }

  /// What the error of reading `content` says.
  std::string problem_of(const std::string& content) {
    try {
      table(content);
    } catch (const DataError& error) {
      return error.problem();
    }
    return "none";
  }

  test::ScratchFolder folder_;
  std::string path_ = folder_ / "t.csv";
};

TEST_F(CsvTableTest, HasColumnsByNameInAnyOrder) {
  const CsvTable read = table("\xef\xbb\xbfrate,\"gpus, all\",name\r\n1.5,8,a\r\n\r\n-2e-3,+16,\"b,\"\"c\"\"\"");

  EXPECT_EQ(read.columns(), (std::vector<std::string>{"rate", "gpus, all", "name"}));
  ASSERT_EQ(read.num_rows(), 2U);
  EXPECT_EQ(read.number(0, "rate", -1, 2), 1.5);
  EXPECT_EQ(read.number(1, "rate", -1, 2), -0.002);
  EXPECT_EQ(read.whole(1, "gpus, all", 0, 16), 16);
  EXPECT_EQ(read.text(1, "name"), "b,\"c\"");
  EXPECT_EQ(read.place(1), "line 4 of " + path_);
  EXPECT_TRUE(read.has("rate"));
  EXPECT_FALSE(read.has("rates"));
}

TEST_F(CsvTableTest, MayHaveNoRows) {
  EXPECT_EQ(table("a,b\n").num_rows(), 0U);
}

TEST_F(CsvTableTest, NamesFileAndLineOfWhatIsNoRow) {
  EXPECT_EQ(problem_of(""), path_ + " is not a table");
  EXPECT_EQ(problem_of("\n\n"), path_ + " is not a table");
  EXPECT_EQ(problem_of("a,a\n"), "line 1 of " + path_ + " is not a header of column names");
  EXPECT_EQ(problem_of("a,b\n1,2\n\n1,2,3\n"), "line 4 of " + path_ + " has 3 fields, the header 2");
  EXPECT_EQ(problem_of("a,b\n\"1\n\",2\n"), "line 2 of " + path_ + " is truncated");
  EXPECT_EQ(problem_of("a\n\xff\n"), "line 2 of " + path_ + " is not valid UTF-8");
}

TEST_F(CsvTableTest, TakesOnlyWholeFieldsForNumbers) {
  const CsvTable read = table("a,b,c,d,e,f\n1x, 1,,nan,1e999,7.5\n");

  for (const std::string column : {"a", "b", "c", "d", "e"}) {
    EXPECT_THROW(static_cast<void>(read.number(0, column, -1e308, 1e308)), DataError) << column;
    EXPECT_THROW(static_cast<void>(read.whole(0, column, -100, 100)), DataError) << column;
  }
  EXPECT_THROW(static_cast<void>(read.whole(0, "f", 0, 100)), DataError);
  EXPECT_THROW(static_cast<void>(read.number(0, "f", 0, 7)), DataError);
  EXPECT_EQ(read.number(0, "f", 7.5, 7.5), 7.5);
}

TEST_F(CsvTableTest, SaysWhichFieldIsWrongAndWhy) {
  const CsvTable read = table("gpus,rate\n1,\nx,0\n");

  EXPECT_EQ(test::message_of<DataError>([&] { static_cast<void>(read.number(0, "rate", 0, 1)); }),
            "line 2 of " + path_ + ": rate is empty (it is not a number)");
  EXPECT_EQ(test::message_of<DataError>([&] { static_cast<void>(read.whole(1, "gpus", 1, 8)); }),
            "line 3 of " + path_ + ": gpus is x (it is not a whole number)");
  EXPECT_EQ(test::message_of<DataError>([&] { static_cast<void>(read.number(1, "rate", 0.5, 1)); }),
            "line 3 of " + path_ + ": rate is 0 (expected 0.5 to 1)");
  EXPECT_EQ(test::message_of<DataError>([&] { static_cast<void>(read.text(0, "gpu")); }),
            path_ + " has no column gpu (its columns are gpus, rate) Rename its column gpus.");
}

}  // namespace
}  // namespace multicard
