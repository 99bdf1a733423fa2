#include "base/Number.hpp"
#include "base/Text.hpp"
#include "postproc/page/StudyColumns.hpp"
#include "postproc/page/Tables.hpp"

namespace multicard::post {

namespace {

using Line = std::vector<std::pair<std::string, std::string>>;  // names and fields

/// Spreadsheets compute what begins like a formula; an apostrophe in front makes it text. Numbers stay numbers.
bool looks_like_a_formula(const std::string& text) {
  return text.size() > 1 && std::string("=+-@\t\r").find(text.front()) != std::string::npos &&
         !parse_number<double>(text);
}

/// Quoted by RFC 4180 where it has separators, quotes or line breaks.
std::string quoted(const std::string& value) {
  std::string text = looks_like_a_formula(value) ? "'" + value : value;
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text)
    out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

/// One part of all fields: the names of the header, or the values.
std::string csv_line(const Line& line, std::string Line::value_type::*part) {
  std::vector<std::string> fields;
  fields.reserve(line.size());
  for (const auto& field : line)
    fields.push_back(quoted(field.*part));
  return join(fields, ",") + "\n";
}

/// The header, then a line for each of the `rows` of every study. `columns_of(study, number)` defines them.
template <class ColumnsOf, class Row>
std::string csv_of(const Collection& collection, const ColumnsOf& columns_of, std::vector<Row> Study::*rows) {
  std::string text;
  for (std::size_t i = 0; i < collection.studies.size(); ++i) {
    const Study& study = collection.studies[i];
    const auto columns = columns_of(study, i + 1);
    for (const Row& row : study.*rows) {
      const Line line = csv_row(columns, row);
      if (text.empty()) text = csv_line(line, &Line::value_type::first);
      text += csv_line(line, &Line::value_type::second);
    }
  }
  return text;
}

}  // namespace

std::string runs_csv(const Collection& collection) {
  const std::vector<std::string> axes = axis_keys(collection);
  const auto columns = [&](const Study& study, std::size_t number) { return run_columns(study, number, axes); };
  return csv_of(collection, columns, &Study::runs);
}

std::string cells_csv(const Collection& collection) {
  const std::vector<std::string> axes = axis_keys(collection);
  const auto columns = [&](const Study& study, std::size_t number) { return cell_columns(study, number, axes); };
  return csv_of(collection, columns, &Study::cells);
}

std::string options_csv(const Collection& collection) {
  const auto columns = [](const Study&, std::size_t number) { return option_columns(number); };
  const std::string text = csv_of(collection, columns, &Study::effects);
  // A table without lines still has its header: programs read it by name, and require_own() knows the report's files by
  // it.
  return text.empty() ? csv_line(csv_row(option_columns(), OptionEffect{}), &Line::value_type::first) : text;
}

}  // namespace multicard::post
