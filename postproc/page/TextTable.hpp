#pragma once
/// \file A table of text that fits the terminal.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace multicard::post {

struct TextTable {
  using Row = std::vector<std::string>;

  std::vector<Row> rows;                ///< the first holds the column headers; all of the same length
  std::vector<Row> short_rows;          ///< the same cells without their intervals; empty: there are no shorter ones
  std::vector<std::size_t> expendable;  ///< columns to leave out on a narrow terminal, in this order
};

/// The rows with the first column aligned to the left and the others to the right.
///
/// Where that is wider than `columns`, first cells have a line of their own above the others (one for rows in turn that
/// have the same), cells have their short form, and as many expendable columns as necessary are left out; a last line
/// names them.
std::string aligned(const TextTable& table, std::optional<std::size_t> columns = std::nullopt);

}  // namespace multicard::post
