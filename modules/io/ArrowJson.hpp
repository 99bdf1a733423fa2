#pragma once
/// \file Arrow's values as JSON; for modules/io only, in builds with Arrow.

#include <cstdint>
#include <string_view>

#include <arrow/type_fwd.h>
#include <nlohmann/json.hpp>

namespace multicard {

/// A value of an array, with what it nests. See ParquetFile::row().
nlohmann::ordered_json arrow_value(const arrow::Array& array, std::int64_t i);

/// The view of a value of an array of (large) binary.
std::string_view arrow_bytes(const arrow::Array& array, std::int64_t i);

}  // namespace multicard
