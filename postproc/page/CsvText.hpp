#pragma once
/// \file A table as CSV.

#include <string>
#include <utility>
#include <vector>

namespace multicard::post {

/// A header and a line for each row. Fields are quoted by RFC 4180 where it is necessary, and what a spreadsheet would
/// compute is made text.
class CsvText {
 public:
  using Row = std::vector<std::pair<std::string, std::string>>;  ///< names and fields

  /// The names of the first row are the header.
  void add(const Row& row);
  /// The header of a table that may have no rows; nothing where there is one.
  void add_header(const Row& row);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace multicard::post
