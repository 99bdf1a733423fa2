#pragma once
/// \file YAML text to deck trees and back; yaml-cpp is hidden by this header.

#include <string>

#include "config/Value.hpp"

namespace multicard {

/// Parses one YAML document. `name` stands in messages. \throws UsageError with `name:line` on a syntax error, a
/// duplicate key, a key that is not a scalar, a tree deeper than 64 levels, or
/// one of more than 20,000 values when its aliases are expanded.
Value parse_yaml(const std::string& text, const std::string& name);

/// Block style for maps, flow style for lists and whatever they hold; ends with a newline.
std::string emit_yaml(const Value& value);
/// One line in flow style, e.g. "[1, 2]"; scalars without their quotes.
std::string emit_inline(const Value& value);

}  // namespace multicard
