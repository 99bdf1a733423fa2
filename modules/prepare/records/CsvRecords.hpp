#pragma once
/// \file Tables of comma- or tab-separated values (RFC 4180) as records.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "prepare/records/RecordScanner.hpp"

namespace multicard {

/// What parts the fields of a file: ',' of NAME.csv, tab of NAME.tsv, either also with .gz; nothing for other names.
std::optional<char> csv_separator(const std::string& path);

/// Takes a file piece by piece and finds its rows, the header first. A row ends at a line end outside quotes; empty
/// lines are passed over.
class CsvScanner {
 public:
  explicit CsvScanner(char separator) : separator_(separator) {}

  void take(std::string_view piece);
  /// After the last piece. Returns what is wrong with the file as a whole, empty if nothing.
  std::string finish();
  std::vector<RecordPlace> release() { return std::move(rows_); }

 private:
  enum class Place { field_start, plain, quoted, quote_in_quotes };

  /// Leaves out a byte order mark.
  void begin();
  void scan(std::string_view piece);
  void end_row(std::int64_t end);

  char separator_;
  std::vector<RecordPlace> rows_;
  RecordPlace current_;
  bool is_open_ = false;  ///< a row has begun
  Place place_ = Place::field_start;
  char last_ = '\0';
  std::int64_t offset_ = 0, line_ = 1;
  bool has_begun_ = false;
  std::string head_ = {};  ///< what came until it was known whether a byte order mark is there
};

/// A row as a JSON object of strings. \throws DataError where the row has another number of fields than the header.
std::string csv_record(const std::vector<std::string>& header, std::string_view row, char separator,
                       const std::string& what);

}  // namespace multicard
