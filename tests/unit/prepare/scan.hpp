#pragma once
// What scanners find in a file, whatever pieces they take it in.

#include <gtest/gtest.h>

#include "prepare/records/RecordScanner.hpp"

namespace multicard::test {

using Texts = std::vector<std::string>;
using Numbers = std::vector<std::int64_t>;

struct Found {
  Texts texts;
  Numbers lines, elements;
  std::string problem;

  friend bool operator==(const Found&, const Found&) = default;
};

template <class Scanner>
Found scan_pieces(Scanner scanner, const std::string& file, std::size_t piece) {
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

/// \param scanner that has taken nothing
template <class Scanner>
Found scan(const Scanner& scanner, const std::string& file) {
  const Found whole = scan_pieces(scanner, file, file.size() + 1);
  for (const std::size_t piece : {1u, 2u, 3u, 7u})
    EXPECT_EQ(scan_pieces(scanner, file, piece), whole) << file;
  return whole;
}

}  // namespace multicard::test
