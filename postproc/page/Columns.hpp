#pragma once
/// \file Columns of tables. Each is defined once: its names, its value, how that is written, and in which outputs it
/// is.

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "postproc/page/Html.hpp"
#include "postproc/reduce/Statistics.hpp"

namespace multicard::post {

/// Sets of outputs that have a column.
using Outputs = unsigned;
inline constexpr Outputs kCsv = 1, kJson = 2, kPage = 4, kTerminal = 8;

/// How a value is written for people; CSV and JSON have all digits.
enum class Format {
  plain,         ///< text, numbers with 4 digits, estimates with their intervals
  three_digits,  ///< the same with 3 digits
  value,         ///< of an estimate without its interval
  milliseconds,  ///< of seconds
  factor,        ///< a ratio: 1.00 rather than 1
  percent,
  count,  ///< 12,345
  bytes,
  bytes_if_any,  ///< "–" for 0
};

/// A value of one row.
class Value {
 public:
  using Json = nlohmann::ordered_json;

  /// An empty field of CSV; JSON leaves the key out.
  Value() = default;
  Value(bool value) : value_(value) {}
  template <std::integral T>
  Value(T value) : value_(static_cast<std::int64_t>(value)) {}
  Value(double value) : value_(value) {}  ///< NaN where it is unknown: null in JSON
  Value(std::string value) : value_(std::move(value)) {}
  Value(const char* value) : value_(std::string(value)) {}
  Value(const Estimate& value) : value_(value) {}
  Value(HtmlCell value) : value_(std::move(value)) {}  ///< for people only: null in JSON
  Value(Json value) : value_(std::move(value)) {}      ///< for JSON only
  template <class T>
  Value(const std::optional<T>& value) : Value(value ? Value(*value) : Value(kNone)) {}

  HtmlCell shown(Format format) const;
  void add_to(Json& object, const std::string& name) const;
  /// Names and fields: one, or of an estimate NAME, NAME_low and NAME_high.
  void add_to(std::vector<std::pair<std::string, std::string>>& csv, const std::string& name) const;

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Estimate, HtmlCell, Json> value_;
};

template <class Row>
struct Column {
  Column(std::string named, Outputs in, std::function<Value(const Row&)> value, std::string header = {},
         Format as = Format::plain)
      : name(std::move(named)), outputs(in), of(std::move(value)), label(std::move(header)), format(as) {}
  /// Of the page alone.
  Column(std::string header, std::function<Value(const Row&)> value, Format as = Format::plain)
      : Column({}, kPage, std::move(value), std::move(header), as) {}

  bool is_in(Outputs output) const { return (outputs & output) != 0; }

  std::string name;  ///< in CSV and JSON
  Outputs outputs;
  std::function<Value(const Row&)> of;
  std::string label;  ///< on the page and in the terminal
  Format format;
};

template <class Row>
using Columns = std::vector<Column<Row>>;

template <class Row>
void append(Columns<Row>& columns, const Columns<Row>& more) {
  columns.insert(columns.end(), more.begin(), more.end());
}

/// One row as a JSON object.
template <class Row>
Value::Json json_row(const Columns<Row>& columns, const Row& row) {
  Value::Json out = Value::Json::object();
  for (const Column<Row>& column : columns)
    if (column.is_in(kJson)) column.of(row).add_to(out, column.name);
  return out;
}

/// The same; no value where there is no row.
template <class Row>
Value json_value(const Columns<Row>& columns, const std::optional<Row>& row) {
  return row ? Value(json_row(columns, *row)) : Value();
}

template <class Row>
Value::Json json_rows(const Columns<Row>& columns, const std::vector<Row>& rows) {
  Value::Json out = Value::Json::array();
  for (const Row& row : rows)
    out.push_back(json_row(columns, row));
  return out;
}

/// Names and fields of one row.
template <class Row>
std::vector<std::pair<std::string, std::string>> csv_row(const Columns<Row>& columns, const Row& row) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const Column<Row>& column : columns)
    if (column.is_in(kCsv)) column.of(row).add_to(out, column.name);
  return out;
}

/// The headers of an output for people.
template <class Row>
std::vector<std::string> labels_in(Outputs output, const Columns<Row>& columns) {
  std::vector<std::string> out;
  for (const Column<Row>& column : columns)
    if (column.is_in(output)) out.push_back(column.label);
  return out;
}

/// The cells of one row in an output for people.
template <class Row>
std::vector<HtmlCell> cells_in(Outputs output, const Columns<Row>& columns, const Row& row) {
  std::vector<HtmlCell> out;
  for (const Column<Row>& column : columns)
    if (column.is_in(output)) out.push_back(column.of(row).shown(column.format));
  return out;
}

/// The same cells as text.
template <class Row>
std::vector<std::string> texts_in(Outputs output, const Columns<Row>& columns, const Row& row) {
  std::vector<std::string> out;
  for (HtmlCell& cell : cells_in(output, columns, row))
    out.push_back(std::move(cell.text));
  return out;
}

/// A table of the page. `rows` is a range of Row.
template <class Row, class Rows>
HtmlTable html_table(std::string id, std::string caption, const Columns<Row>& columns, Rows&& rows) {
  HtmlTable out{std::move(id), std::move(caption), labels_in(kPage, columns), {}};
  for (const Row& row : rows)
    out.rows.push_back(cells_in(kPage, columns, row));
  return out;
}

}  // namespace multicard::post
