// Where records stand in a file, whatever pieces it is taken in.
#include "prepare/records/RecordScanner.hpp"

#include <gtest/gtest.h>

#include "unit/prepare/scan.hpp"

namespace multicard {
namespace {

using test::Found;
using test::Numbers;
using test::Texts;

Found scan(const std::string& file) {
  return test::scan(RecordScanner(), file);
}

TEST(RecordScanner, TakesLines) {
  const Found found = scan("{\"a\": 1}\n\n  {\"b\": \"x\"} \r\n\t\n{\"c\": [\n");
  EXPECT_EQ(found.texts, (Texts{"{\"a\": 1}", "{\"b\": \"x\"}", "{\"c\": ["}));
  EXPECT_EQ(found.lines, (Numbers{1, 3, 5}));
  EXPECT_EQ(found.elements, (Numbers{0, 0, 0}));
  EXPECT_EQ(found.problem, "");
  EXPECT_EQ(scan("{}").texts, (Texts{"{}"}));
  EXPECT_EQ(scan("\xef\xbb\xbf{}\n").texts, (Texts{"{}"}));
  EXPECT_TRUE(scan("").texts.empty());
  EXPECT_TRUE(scan(" \n\n ").texts.empty());
}

TEST(RecordScanner, TakesElementsOfAnArray) {
  const Found found = scan("\n[\n  {\"a\": \"]},{\\\"[\"},\n  {\"b\": [1, {\"c\": 2}]} , 17,\"x\\\\\"\n]\n");
  EXPECT_EQ(found.texts, (Texts{"{\"a\": \"]},{\\\"[\"}", "{\"b\": [1, {\"c\": 2}]} ", "17", "\"x\\\\\"\n"}));
  EXPECT_EQ(found.lines, (Numbers{3, 4, 4, 4}));
  EXPECT_EQ(found.elements, (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(found.problem, "");
  EXPECT_TRUE(scan("[ ]").texts.empty());
  EXPECT_EQ(scan("[ ]").problem, "");
}

TEST(RecordScanner, NoticesArraysThatAreNotWhole) {
  EXPECT_NE(scan("[").problem.find("does not end"), std::string::npos);
  EXPECT_NE(scan("[{}, ").problem.find("does not end"), std::string::npos);
  EXPECT_NE(scan("[{},\n{\"a\": \"b]").problem.find("element 2 of its JSON array (line 2) does not end"),
            std::string::npos);
  EXPECT_NE(scan("[{}] {}").problem.find("data after the end"), std::string::npos);
  EXPECT_EQ(scan("[[[[").texts, Texts{});
}

TEST(RecordScanner, MakesRecordsOfCommasTooMany) {
  EXPECT_EQ(scan("[{},,{}]").texts, (Texts{"{}", "", "{}"}));
  EXPECT_EQ(scan("[{},]").texts, (Texts{"{}", ""}));
  EXPECT_EQ(scan("[,{}]").texts, (Texts{"", "{}"}));
}

}  // namespace
}  // namespace multicard
