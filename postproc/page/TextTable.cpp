#include "postproc/page/TextTable.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Terminal.hpp"
#include "base/Text.hpp"
#include "base/Utf8.hpp"

namespace multicard::post {

namespace {

using Row = TextTable::Row;
using Widths = std::vector<std::size_t>;

constexpr std::size_t kGap = 2;  ///< characters between columns

Widths widths_of(const std::vector<Row>& rows) {
  Widths widths(rows.front().size(), 0);
  for (const Row& row : rows)
    for (std::size_t column = 0; column < row.size(); ++column)
      widths[column] = std::max(widths[column], num_characters(row[column]));
  return widths;
}

/// Of a line with its gaps; widths are counted in characters, not bytes.
std::size_t total(const Widths& widths) {
  std::size_t sum = 0;
  for (const std::size_t width : widths)
    sum += width + kGap;
  return sum - kGap;
}

std::string line_of(const Row& row, const Widths& widths) {
  std::string line;
  for (std::size_t column = 0; column < row.size(); ++column) {
    const std::string padding(widths[column] - num_characters(row[column]), ' ');
    line += column == 0 ? row[column] + padding : std::string(kGap, ' ') + padding + row[column];
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

/// The rows with their first cells on lines of their own, once for consecutive rows that have the same.
std::string stacked(const std::vector<Row>& rows, std::size_t columns) {
  std::vector<Row> numbers = rows;
  for (Row& row : numbers)
    row.front().clear();
  const Widths widths = widths_of(numbers);
  std::string out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0 && rows[i].front() != rows[i - 1].front()) out += wrapped(rows[i].front(), columns, kGap) + "\n";
    out += line_of(numbers[i], widths);
  }
  return out;
}

/// Removes columns from `rows` until they fit, and returns their headers.
std::vector<std::string> leave_out(std::vector<Row>& rows, std::vector<std::size_t> expendable, std::size_t columns) {
  std::vector<std::string> names;
  const auto is_too_wide = [&] {
    Widths widths = widths_of(rows);
    widths.front() = 0;
    return total(widths) > columns;
  };
  for (std::size_t i = 0; i < expendable.size() && is_too_wide(); ++i) {
    const std::size_t column = expendable[i];
    names.push_back(rows.front()[column]);
    for (Row& row : rows)
      row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
    // Positions after the removed column move by one.
    for (std::size_t& later : expendable)
      if (later > column) --later;
  }
  return names;
}

}  // namespace

std::string aligned(const TextTable& table, std::optional<std::size_t> columns) {
  const Widths widths = widths_of(table.rows);
  if (!columns || total(widths) <= *columns) {
    std::string out;
    for (const Row& row : table.rows)
      out += line_of(row, widths);
    return out;
  }
  std::vector<Row> rows = table.short_rows.empty() ? table.rows : table.short_rows;
  const std::vector<std::string> names = leave_out(rows, table.expendable, *columns);
  std::string out = stacked(rows, *columns);
  if (!names.empty())
    out += wrapped(fmt::format("not shown in {} columns: {}", *columns, join(names, ", ")), *columns, 2) + "\n";
  return out;
}

}  // namespace multicard::post
