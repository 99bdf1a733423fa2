#pragma once
/// \file Attribute values of any type as text.

#include <cstdint>
#include <string>
#include <vector>

#include "base/Text.hpp"

namespace multicard::post {

inline std::string as_text(double value) {
  return significant(value, 6);
}
inline std::string as_text(std::int64_t value) {
  return std::to_string(value);
}
inline std::string as_text(const std::string& value) {
  return value;
}
template <class T>
std::string as_text(const std::vector<T>& values) {
  std::vector<std::string> parts;
  parts.reserve(values.size());
  for (const T& value : values)
    parts.push_back(as_text(value));
  return join(parts, ", ");
}

}  // namespace multicard::post
