#pragma once
/// \file The fields of a row of comma- or tab-separated values (RFC 4180).

#include <string>
#include <string_view>
#include <vector>

namespace multicard {

/// The fields of one row. `what` names it in errors. \throws DataError
std::vector<std::string> csv_fields(std::string_view row, char separator, const std::string& what);

/// The names of a table's columns; none may be empty or occur twice. \throws DataError
std::vector<std::string> csv_header(std::string_view row, char separator, const std::string& what);

}  // namespace multicard
