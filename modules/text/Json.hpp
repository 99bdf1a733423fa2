#pragma once
/// \file Reading JSON that nobody vouches for. Every error is a DataError that says what is wrong where.

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace multicard {

/// Refuses what is not JSON and what is nested so deeply that it can only be meant to hurt. `origin` names the text.
nlohmann::json parse_json(std::string_view text, const std::string& origin);
/// The same with the members of objects in the order of the text.
nlohmann::ordered_json parse_ordered_json(std::string_view text, const std::string& origin);

/// \name Members of an object, which may be ordered or not; `what` names the object in errors
/// @{
template <class Json>
const Json& member(const Json& object, const char* key, const std::string& what);
/// nullptr when it is missing or null.
template <class Json>
const Json* optional_member(const Json& object, const char* key);
template <class Json>
std::string text_member(const Json& object, const char* key, const std::string& what);
/// False or true; `otherwise` when it is missing or null.
template <class Json>
bool flag_member(const Json& object, const char* key, bool otherwise, const std::string& what);
/// A whole number from 0 to `largest`.
template <class Json>
std::uint64_t count_of(const Json& value, std::uint64_t largest, const std::string& what);
/// The member "type".
template <class Json>
std::string type_of(const Json& object, const std::string& what);
template <class Json>
const Json& list_member(const Json& object, const char* key, const std::string& what);
/// @}

}  // namespace multicard
