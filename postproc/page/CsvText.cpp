#include "postproc/page/CsvText.hpp"

#include "base/Number.hpp"
#include "base/Text.hpp"

namespace multicard::post {

namespace {

using Line = CsvText::Row;

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

}  // namespace

void CsvText::add_header(const Row& row) {
  if (text_.empty()) text_ = csv_line(row, &Row::value_type::first);
}

void CsvText::add(const Row& row) {
  add_header(row);
  text_ += csv_line(row, &Row::value_type::second);
}

}  // namespace multicard::post
