#include "text/Json.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/AnyError.hpp"
#include "base/Error.hpp"

namespace multicard {

namespace {

constexpr int kDeepest = 100;

/// How deeply brackets are nested outside strings, at most.
int depth_of(std::string_view text) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char character = text[i];
    if (in_string) {
      if (character == '\\') ++i;
      if (character == '"') in_string = false;
    } else if (character == '"') {
      in_string = true;
    } else if (character == '{' || character == '[') {
      deepest = std::max(deepest, ++depth);
    } else if (character == '}' || character == ']') {
      --depth;
    }
  }
  return deepest;
}

}  // namespace

nlohmann::json parse_json(std::string_view text, const std::string& origin) {
  if (depth_of(text) > kDeepest) throw DataError(fmt::format("{} is nested more than {} deep", origin, kDeepest));
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    throw DataError(fmt::format("{} is not JSON", origin), reason_of(error));
  }
}

const nlohmann::json& member(const nlohmann::json& object, const char* key, const std::string& what) {
  if (!object.is_object()) throw DataError(fmt::format("{} is not a JSON object", what));
  const auto found = object.find(key);
  if (found == object.end()) throw DataError(fmt::format("{} has no \"{}\"", what, key));
  return *found;
}

const nlohmann::json* optional_member(const nlohmann::json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string text_member(const nlohmann::json& object, const char* key, const std::string& what) {
  const nlohmann::json& value = member(object, key, what);
  if (!value.is_string()) throw DataError(fmt::format("\"{}\" of {} is not a string", key, what));
  return value.get<std::string>();
}

bool flag_member(const nlohmann::json& object, const char* key, bool otherwise, const std::string& what) {
  const nlohmann::json* value = optional_member(object, key);
  if (!value) return otherwise;
  if (!value->is_boolean()) throw DataError(fmt::format("\"{}\" of {} is not true or false", key, what));
  return value->get<bool>();
}

std::uint64_t count_of(const nlohmann::json& value, std::uint64_t largest, const std::string& what) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > largest)
    throw DataError(fmt::format("{} is not a whole number from 0 to {}", what, largest));
  return value.get<std::uint64_t>();
}

std::string type_of(const nlohmann::json& object, const std::string& what) {
  return text_member(object, "type", what);
}

const nlohmann::json& list_member(const nlohmann::json& object, const char* key, const std::string& what) {
  const nlohmann::json& value = member(object, key, what);
  if (!value.is_array()) throw DataError(fmt::format("\"{}\" of {} is not a list", key, what));
  return value;
}

}  // namespace multicard
