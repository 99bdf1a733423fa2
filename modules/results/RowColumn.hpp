#pragma once
/// \file Tables whose rows are structures: one definition of their columns for every form in which they are stored.

#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "results/Columns.hpp"

namespace multicard {

/// Whether all files have a column.
enum class Since {
  first,  ///< a file without it is damaged
  later   ///< older files lack it: its values are those of a new row
};

/// A column of a table with rows of type Row: its name in every file, and its place in a row. Values are text
/// (std::string), std::int64_t or double.
template <class Row, class Value>
struct RowColumn {
  const char* name;
  Value Row::*place;
  Since since;
};

template <class Row, class Value>
constexpr RowColumn<Row, Value> column(const char* name, Value Row::*place, Since since = Since::first) {
  return {name, place, since};
}

/// Calls `each` with every column of Row, in the order of their definition: the tuple that columns_of(const Row*)
/// returns, a function in the namespace of Row.
template <class Row, class Each>
void for_each_column(const Each& each) {
  std::apply([&](const auto&... columns) { (each(columns), ...); }, columns_of(static_cast<const Row*>(nullptr)));
}

/// Named columns as a results file holds them. An empty table has its columns, too.
template <class Row>
Table table_of(const std::vector<Row>& rows) {
  Table table;
  for_each_column<Row>([&]<class Value>(const RowColumn<Row, Value>& column) {
    std::vector<Value>* values = nullptr;
    if constexpr (std::is_same_v<Value, std::string>)
      values = &table.text[column.name];
    else if constexpr (std::is_same_v<Value, std::int64_t>)
      values = &table.integers[column.name];
    else
      values = &table.reals[column.name];
    for (const Row& row : rows)
      values->push_back(row.*column.place);
  });
  return table;
}

}  // namespace multicard
