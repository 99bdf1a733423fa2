#pragma once
/// \file JSON as text.

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace multicard {

/// `json` on one line, or with `indent` spaces a level. Bytes that are not UTF-8, as the names of files, hosts and
/// devices may hold, become U+FFFD; the library would throw. \throws NumericalError for a number that is not finite,
/// which JSON cannot hold: the library would write null
std::string json_text(const nlohmann::json& json, int indent = -1);
std::string json_text(const nlohmann::ordered_json& json, int indent = -1);

/// `value`, which `name` has in a line of JSON that is written by hand. \throws NumericalError where it is not finite
double json_number(double value, std::string_view name);

}  // namespace multicard
