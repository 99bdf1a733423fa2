#pragma once
/// \file Reading JSON that nobody vouches for. Every error is a DataError that says what is wrong where.

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace multicard {

/// Refuses what is not JSON and what is nested so deeply that it can only be meant to hurt. `origin` names the text.
nlohmann::json parse_json(std::string_view text, const std::string& origin);

/// \name Members of an object; `what` names the object in errors
/// @{
const nlohmann::json& member(const nlohmann::json& object, const char* key, const std::string& what);
/// nullptr when it is missing or null.
const nlohmann::json* optional_member(const nlohmann::json& object, const char* key);
std::string text_member(const nlohmann::json& object, const char* key, const std::string& what);
/// False or true; `otherwise` when it is missing or null.
bool flag_member(const nlohmann::json& object, const char* key, bool otherwise, const std::string& what);
/// A whole number from 0 to `largest`.
std::uint64_t count_of(const nlohmann::json& value, std::uint64_t largest, const std::string& what);
/// The member "type".
std::string type_of(const nlohmann::json& object, const std::string& what);
const nlohmann::json& list_member(const nlohmann::json& object, const char* key, const std::string& what);
/// @}

}  // namespace multicard
