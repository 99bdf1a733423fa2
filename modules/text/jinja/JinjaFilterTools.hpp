#pragma once
/// \file What the functions of templates have in common.

#include <map>
#include <string>

#include "text/jinja/JinjaRuntime.hpp"
#include "text/jinja/JinjaText.hpp"

namespace multicard {

inline const std::string& string_of(const JinjaValue& value) {
  if (!value.string()) throw JinjaError(std::string("a string is expected, not a ") + value.type_name());
  return *value.string();
}

/// \name Of an argument, nullptr where it is left out
/// @{
inline bool is_given(const JinjaValue* value) {
  return value && !value->is_none();
}
inline bool is_true(const JinjaValue* value) {
  return value && value->is_true();
}
inline std::int64_t integer_or(const JinjaValue* value, std::int64_t otherwise) {
  if (!is_given(value)) return otherwise;
  if (!value->is_integer()) throw JinjaError(std::string("an integer is expected, not a ") + value->type_name());
  return value->integer();
}
/// The member of an item that an `attribute` names: "a.0.b" is a path, a number an index; without one the item itself.
JinjaValue jinja_member(JinjaRuntime& runtime, JinjaValue item, const JinjaValue* attribute);
/// @}

/// \name Parts of the tables; nullptr for an unknown name
/// @{
JinjaFunction find_jinja_row_filter(std::string_view name);
JinjaFunction find_jinja_order_filter(std::string_view name);
JinjaFunction find_jinja_text_method(std::string_view name);
/// @}

}  // namespace multicard
