#pragma once
/// \file JSON as text.

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace multicard {

/// `json` on one line, or with `indent` spaces a level. Bytes that are not UTF-8, as the names of files, hosts and
/// devices may hold, become U+FFFD; the library would throw.
std::string json_text(const nlohmann::json& json, int indent = -1);
std::string json_text(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace multicard
