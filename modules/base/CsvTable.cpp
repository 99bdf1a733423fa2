#include "base/CsvTable.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/CsvFields.hpp"
#include "base/Number.hpp"
#include "base/RegularFile.hpp"
#include "base/Shown.hpp"
#include "base/Text.hpp"
#include "base/Utf8.hpp"

namespace multicard {

namespace {

constexpr std::size_t kLongestField = 40;  // bytes of a field that a message shows

}  // namespace

CsvTable::CsvTable(std::string path) : path_(std::move(path)) {
  // Lines first, fields second: a line end inside quotes is refused (as a quote that does not end) rather than joined,
  // so that a forgotten quote is an error of its line, not of the rest of the file.
  const std::string content = read_file(path_);
  std::string_view rest = content;
  if (rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) take_line(line, number);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (columns_.empty())
    throw DataError(fmt::format("{} is not a table", path_), "it is empty",
                    "The first line of a table names its columns.");
}

void CsvTable::take_line(std::string_view line, std::size_t number) {
  const std::string what = fmt::format("line {} of {}", number, path_);
  if (columns_.empty()) {
    columns_ = csv_header(line, ',', what);
    return;
  }
  std::vector<std::string> fields = csv_fields(line, ',', what);
  if (fields.size() != columns_.size())
    throw DataError(fmt::format("{} has {} fields, the header {}", what, fields.size(), columns_.size()), "",
                    "Quote fields that hold commas.");
  lines_.push_back(number);
  std::move(fields.begin(), fields.end(), std::back_inserter(fields_));
}

bool CsvTable::has(std::string_view column) const {
  return std::find(columns_.begin(), columns_.end(), column) != columns_.end();
}

std::size_t CsvTable::index_of(std::string_view column) const {
  const auto found = std::find(columns_.begin(), columns_.end(), column);
  if (found != columns_.end()) return static_cast<std::size_t>(found - columns_.begin());
  const std::optional<std::string> meant = nearest(column, columns_);
  throw DataError(fmt::format("{} has no column {}", path_, column),
                  fmt::format("its columns are {}", shown(join(columns_, ", "), 200)),
                  meant ? fmt::format("Rename its column {}.", shown(*meant, kLongestField)) : "");
}

const std::string& CsvTable::text(std::size_t row, std::string_view column) const {
  return fields_[row * columns_.size() + index_of(column)];
}

double CsvTable::number(std::size_t row, std::string_view column, double low, double high) const {
  const std::optional<double> number = parse_number<double>(text(row, column));
  if (!number || !std::isfinite(*number)) throw wrong(row, column, "it is not a number");
  if (*number < low || *number > high) throw wrong(row, column, fmt::format("expected {} to {}", low, high));
  return *number;
}

std::int64_t CsvTable::whole(std::size_t row, std::string_view column, std::int64_t low, std::int64_t high) const {
  const std::optional<std::int64_t> number = parse_number<std::int64_t>(text(row, column));
  if (!number) throw wrong(row, column, "it is not a whole number");
  if (*number < low || *number > high) throw wrong(row, column, fmt::format("expected {} to {}", low, high));
  return *number;
}

std::vector<int> CsvTable::digits(std::size_t row, std::string_view column, const char* each) const {
  std::vector<int> digits;
  // Not a number: one digit for each of the things that the column counts, so leading digits stay what they are.
  for (const char digit : text(row, column)) {
    if (digit < '1' || digit > '9') break;
    digits.push_back(digit - '0');
  }
  if (digits.empty() || digits.size() < text(row, column).size())
    throw wrong(row, column, fmt::format("expected a digit from 1 to 9 for each {}", each));
  return digits;
}

std::int64_t CsvTable::whole_name(const std::string& column, std::int64_t low, std::int64_t high) const {
  const std::optional<std::int64_t> number = parse_number<std::int64_t>(column);
  if (!number || *number < low || *number > high)
    throw DataError(
        fmt::format("{}: column {} is not a number from {} to {}", path_, shown(column, kLongestField), low, high));
  return *number;
}

std::string CsvTable::place(std::size_t row) const {
  return fmt::format("line {} of {}", lines_[row], path_);
}

DataError CsvTable::wrong(std::size_t row, std::string_view column, const std::string& why,
                          const std::string& suggestion) const {
  const std::string& field = text(row, column);
  return DataError(fmt::format("{}: {} is {}", place(row), column,
                               field.empty() ? std::string("empty") : shown(field, kLongestField)),
                   why, suggestion);
}

}  // namespace multicard
