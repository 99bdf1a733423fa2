#include "base/CsvFields.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Shown.hpp"
#include "base/Utf8.hpp"

namespace multicard {

std::vector<std::string> csv_fields(std::string_view row, char separator, const std::string& what) {
  if (!is_valid_utf8(row)) throw DataError(fmt::format("{} is not valid UTF-8", what));
  std::vector<std::string> fields;
  // A row without any field is one empty field, and a separator at the end begins another: the loop ends only after a
  // field, never after a separator.
  std::size_t at = 0;
  while (true) {
    std::string field;
    if (at < row.size() && row[at] == '"') {
      for (++at; at < row.size() && (row[at] != '"' || row.substr(at).starts_with("\"\"")); ++at) {
        if (row[at] == '"') ++at;
        field += row[at];
      }
      if (at >= row.size())
        throw DataError(fmt::format("{} is truncated", what), "a quoted field does not end",
                        "Close the quote of the field that begins with " + shown(field, 40) + ".");
      ++at;
      if (at < row.size() && row[at] != separator)
        throw DataError(fmt::format("field {} of {} has text after its closing quote", fields.size() + 1, what),
                        fmt::format("it begins with {}", shown(field, 40)), "Double the quotes inside a quoted field.");
    } else {
      const std::size_t end = std::min(row.find(separator, at), row.size());
      field = row.substr(at, end - at);
      at = end;
    }
    fields.push_back(std::move(field));
    if (at >= row.size()) return fields;
    ++at;
  }
}

std::vector<std::string> csv_header(std::string_view row, char separator, const std::string& what) {
  std::vector<std::string> names = csv_fields(row, separator, what);
  std::set<std::string> seen;
  for (const std::string& name : names)
    if (name.empty() || !seen.insert(name).second)
      throw DataError(fmt::format("{} is not a header of column names", what),
                      name.empty() ? "a name is empty" : fmt::format("{} occurs twice", shown(name, 40)),
                      "The first row of a table names its columns.");
  return names;
}

}  // namespace multicard
