// Where records stand in a file, whatever pieces it is taken in.
#include "data/RecordScanner.hpp"

#include <gtest/gtest.h>

namespace multicard {
namespace {

struct Found {
  std::vector<std::string> texts;
  std::vector<std::int64_t> lines, elements;
  std::string problem;

  friend bool operator==(const Found&, const Found&) = default;
};

Found scan(const std::string& file, std::size_t piece) {
  RecordScanner scanner;
  for (std::size_t at = 0; at < file.size(); at += piece)
    scanner.take(std::string_view(file).substr(at, piece));
  Found found;
  found.problem = scanner.finish();
  for (const RecordPlace& place : scanner.release()) {
    found.texts.push_back(
        file.substr(static_cast<std::size_t>(place.offset), static_cast<std::size_t>(place.num_bytes)));
    found.lines.push_back(place.line);
    found.elements.push_back(place.element);
  }
  return found;
}

Found scan(const std::string& file) {
  const Found whole = scan(file, file.size() + 1);
  for (const std::size_t piece : {1u, 2u, 3u, 7u})
    EXPECT_EQ(scan(file, piece), whole) << file;
  return whole;
}

using Texts = std::vector<std::string>;
using Numbers = std::vector<std::int64_t>;

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
  EXPECT_NE(scan("[{}] {}").problem.find("stands behind"), std::string::npos);
  EXPECT_EQ(scan("[[[[").texts, Texts{});
}

TEST(RecordScanner, MakesRecordsOfCommasTooMany) {
  EXPECT_EQ(scan("[{},,{}]").texts, (Texts{"{}", "", "{}"}));
  EXPECT_EQ(scan("[{},]").texts, (Texts{"{}", ""}));
  EXPECT_EQ(scan("[,{}]").texts, (Texts{"", "{}"}));
}

}  // namespace
}  // namespace multicard
