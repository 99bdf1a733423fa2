#pragma once
/// \file What the functions of templates have in common.

#include <map>
#include <string>

#include "text/JinjaRuntime.hpp"
#include "text/JinjaText.hpp"

namespace multicard {

inline const std::string& string_of(const JinjaValue& value) {
  if (!value.string()) throw JinjaError(std::string("a string is expected, not a ") + value.type_name());
  return *value.string();
}

inline std::int64_t integer_or(const JinjaValue* value, std::int64_t otherwise) {
  if (!value || value->is_none()) return otherwise;
  if (!value->is_integer()) throw JinjaError(std::string("an integer is expected, not a ") + value->type_name());
  return value->integer();
}

/// The filters of JinjaRowFilters.cpp.
JinjaFunction find_jinja_row_filter(std::string_view name);

}  // namespace multicard
