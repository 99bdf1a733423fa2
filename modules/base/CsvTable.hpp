#pragma once
/// \file Tables of numbers and names in CSV files.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/Error.hpp"

namespace multicard {

/// A comma-separated file (RFC 4180) in memory whose first line names the columns. One row is one line: quoted fields
/// hold no line ends. Empty lines are passed over; a byte order mark and the missing end of the last line are not
/// mistakes. Every other row has as many fields as the header. Rows are counted from 0.
class CsvTable {
 public:
  /// \throws DataError where the file cannot be read or is no such table.
  explicit CsvTable(std::string path);

  const std::string& path() const { return path_; }
  std::size_t num_rows() const { return lines_.size(); }
  /// The header.
  const std::vector<std::string>& columns() const { return columns_; }
  bool has(std::string_view column) const;

  /// \name One field. \throws DataError that names the file and the column or the line.
  /// @{
  const std::string& text(std::size_t row, std::string_view column) const;
  /// A finite number between `low` and `high`, both included.
  double number(std::size_t row, std::string_view column, double low, double high) const;
  /// A whole number between `low` and `high`, both included.
  std::int64_t whole(std::size_t row, std::string_view column, std::int64_t low, std::int64_t high) const;
  /// Digits from 1 to 9, at least one; `each` says in errors what each is of.
  std::vector<int> digits(std::size_t row, std::string_view column, const char* each) const;
  /// @}

  /// The number between `low` and `high` that a column has for a name. \throws DataError
  std::int64_t whole_name(const std::string& column, std::int64_t low, std::int64_t high) const;

  /// "line 3 of PATH", where the row stands.
  std::string place(std::size_t row) const;
  /// An error about a field, for rules that go beyond its type and range: "line 3 of PATH: COLUMN is FIELD (WHY)".
  DataError wrong(std::size_t row, std::string_view column, const std::string& why,
                  const std::string& suggestion = {}) const;

 private:
  void take_line(std::string_view line, std::size_t number);
  /// \throws DataError where there is no such column.
  std::size_t index_of(std::string_view column) const;

  std::string path_;
  std::vector<std::string> columns_;
  std::vector<std::size_t> lines_;   ///< of each row, counted from 1
  std::vector<std::string> fields_;  ///< row after row
};

}  // namespace multicard
