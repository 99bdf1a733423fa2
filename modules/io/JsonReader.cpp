#include "io/JsonReader.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/AnyError.hpp"
#include "base/Error.hpp"

namespace multicard {

namespace {

using nlohmann::json;

constexpr std::size_t kDeepest = 100;
/// Of an object that keeps the order of its members: it finds them one by one.
constexpr std::size_t kMostOrdered = 1000;

struct Shape {
  std::size_t depth = 0;         ///< how deeply brackets are nested outside strings, at most
  std::size_t most_members = 0;  ///< of one object
};

Shape shape_of(std::string_view text) {
  Shape shape;
  std::vector<std::size_t> open;  // by bracket: the members so far
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char character = text[i];
    if (in_string) {
      if (character == '\\') ++i;
      if (character == '"') in_string = false;
    } else if (character == '"') {
      in_string = true;
    } else if (character == '{' || character == '[') {
      open.push_back(0);
      shape.depth = std::max(shape.depth, open.size());
    } else if (open.empty()) {
      continue;
    } else if (character == '}' || character == ']') {
      open.pop_back();
    } else if (character == ':') {
      shape.most_members = std::max(shape.most_members, ++open.back());
    }
  }
  return shape;
}

template <class Json>
Json parse(std::string_view text, const std::string& origin, const typename Json::parser_callback_t& watch = nullptr) {
  // Before the parser sees the text: each level costs it memory, and copies and dumps of the result are recursive.
  const Shape shape = shape_of(text);
  if (shape.depth > kDeepest) throw DataError(fmt::format("{} is nested more than {} deep", origin, kDeepest));
  if (std::is_same_v<Json, nlohmann::ordered_json> && shape.most_members > kMostOrdered)
    throw DataError(fmt::format("{} has an object of more than {} members", origin, kMostOrdered));
  try {
    return Json::parse(text, watch);
  } catch (const nlohmann::json::exception& error) {
    throw DataError(fmt::format("{} is not JSON", origin), reason_of(error));
  }
}

}  // namespace

nlohmann::json parse_json(std::string_view text, const std::string& origin) {
  return parse<nlohmann::json>(text, origin);
}

nlohmann::ordered_json parse_ordered_json(std::string_view text, const std::string& origin) {
  return parse<nlohmann::ordered_json>(text, origin);
}

template <class Json>
Json parse_json_object(std::string_view text, const std::string& problem, const std::string& suggestion) {
  Json object;
  try {
    object = parse<Json>(text, "it");
  } catch (const DataError& error) {
    throw DataError(problem, error.why().empty() ? error.problem() : error.why(), suggestion);
  }
  if (!object.is_object()) throw DataError(problem, "it is not a JSON object", suggestion);
  return object;
}

json parse_unambiguous_json_object(std::string_view text, const std::string& origin, const std::string& problem) {
  // Of two members of one name the library keeps the last, others the first: one file would have two meanings.
  std::vector<std::set<std::string>> open_objects;
  const auto watch = [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == json::parse_event_t::object_end) open_objects.pop_back();
    if (event == json::parse_event_t::key && !open_objects.back().insert(parsed.get<std::string>()).second)
      throw DataError(fmt::format("{} names {} twice", origin, parsed.get<std::string>()));
    return true;
  };
  json object;
  try {
    object = parse<json>(text, origin, watch);
  } catch (const DataError& error) {
    throw DataError(problem, error.why().empty() ? error.problem() : error.problem() + ": " + error.why());
  }
  if (!object.is_object()) throw DataError(problem, fmt::format("{} is not a JSON object", origin));
  return object;
}

template <class Json>
const Json& member(const Json& object, const char* key, const std::string& what) {
  if (!object.is_object()) throw DataError(fmt::format("{} is not a JSON object", what));
  const auto found = object.find(key);
  if (found == object.end()) throw DataError(fmt::format("{} has no \"{}\"", what, key));
  return *found;
}

template <class Json>
const Json* optional_member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

template <class Json>
std::string text_member(const Json& object, const char* key, const std::string& what) {
  const Json& value = member(object, key, what);
  if (!value.is_string()) throw DataError(fmt::format("\"{}\" of {} is not a string", key, what));
  return value.template get<std::string>();
}

template <class Json>
bool flag_member(const Json& object, const char* key, bool otherwise, const std::string& what) {
  const Json* value = optional_member(object, key);
  if (!value) return otherwise;
  if (!value->is_boolean()) throw DataError(fmt::format("\"{}\" of {} is not true or false", key, what));
  return value->template get<bool>();
}

template <class Json>
std::uint64_t count_of(const Json& value, std::uint64_t largest, const std::string& what) {
  if (!value.is_number_unsigned() || value.template get<std::uint64_t>() > largest)
    throw DataError(fmt::format("{} is not a whole number from 0 to {}", what, largest));
  return value.template get<std::uint64_t>();
}

template <class Json>
std::string type_of(const Json& object, const std::string& what) {
  return text_member(object, "type", what);
}

template <class Json>
const Json& list_member(const Json& object, const char* key, const std::string& what) {
  const Json& value = member(object, key, what);
  if (!value.is_array()) throw DataError(fmt::format("\"{}\" of {} is not a list", key, what));
  return value;
}

#define MULTICARD_JSON_MEMBERS(Json)                                                         \
  template Json parse_json_object(std::string_view, const std::string&, const std::string&); \
  template const Json& member(const Json&, const char*, const std::string&);                 \
  template const Json* optional_member(const Json&, const char*);                            \
  template std::string text_member(const Json&, const char*, const std::string&);            \
  template bool flag_member(const Json&, const char*, bool, const std::string&);             \
  template std::uint64_t count_of(const Json&, std::uint64_t, const std::string&);           \
  template std::string type_of(const Json&, const std::string&);                             \
  template const Json& list_member(const Json&, const char*, const std::string&);

MULTICARD_JSON_MEMBERS(nlohmann::json)
MULTICARD_JSON_MEMBERS(nlohmann::ordered_json)
#undef MULTICARD_JSON_MEMBERS

JsonReader::JsonReader(const json& object, std::string origin, std::string prefix, std::string suggestion)
    : object_(object), origin_(std::move(origin)), prefix_(std::move(prefix)), suggestion_(std::move(suggestion)) {}

std::string JsonReader::place_of(const std::string& key) const {
  return origin_ + ": " + prefix_ + key;
}

void JsonReader::refuse(const std::string& key, const std::string& why, const std::string& suggestion) const {
  throw DataError(place_of(key) + " cannot be used", why, suggestion.empty() ? suggestion_ : suggestion);
}

const json* JsonReader::find(const std::string& key) const {
  return optional_member(object_, key.c_str());
}

bool JsonReader::holds(const std::string& key) const {
  return object_.contains(key);
}

std::int64_t JsonReader::checked(const std::string& key, const json& value, std::int64_t least,
                                 std::int64_t most) const {
  // Numbers above INT64_MAX are whole numbers too, and get<std::int64_t>() would wrap them around.
  const bool is_whole = value.is_number_integer() &&
                        (!value.is_number_unsigned() || value.get<std::uint64_t>() <= std::uint64_t(INT64_MAX));
  if (!is_whole || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most)
    refuse(key, "it is " + shown(value) + ", not a whole number from " + std::to_string(least) + " to " +
                    std::to_string(most));
  return value.get<std::int64_t>();
}

double JsonReader::positive(const std::string& key, double otherwise) const {
  const json* value = find(key);
  if (!value) return otherwise;
  const double number = value->is_number() ? value->get<double>() : 0;
  if (!(number > 0) || !std::isfinite(number)) refuse(key, "it is " + shown(*value) + ", not a number above 0");
  return number;
}

bool JsonReader::truth(const std::string& key, bool otherwise) const {
  const json* value = find(key);
  if (value && !value->is_boolean()) refuse(key, "it is " + shown(*value) + ", not true or false");
  return value ? value->get<bool>() : otherwise;
}

std::string JsonReader::text(const std::string& key, const std::string& otherwise) const {
  const json* value = find(key);
  if (value && !value->is_string()) refuse(key, "it is " + shown(*value) + ", not a text");
  return value ? value->get<std::string>() : otherwise;
}

std::optional<JsonReader> JsonReader::object(const std::string& key) const {
  const json* value = find(key);
  if (!value) return std::nullopt;
  if (!value->is_object()) refuse(key, "it is " + shown(*value) + ", not an object");
  return JsonReader(*value, origin_, prefix_ + key + ".", suggestion_);
}

std::map<std::string, double> JsonReader::numbers(const std::string& key) const {
  std::map<std::string, double> numbers;
  const std::optional<JsonReader> values = object(key);
  if (!values) return numbers;
  for (const std::string& name : values->keys()) {
    const json& value = values->required(name);
    if (!value.is_number()) values->refuse(name, "it is " + shown(value) + ", not a number");
    numbers[name] = value.get<double>();
  }
  return numbers;
}

std::map<std::string, std::string> JsonReader::texts(const std::string& key) const {
  std::map<std::string, std::string> texts;
  const std::optional<JsonReader> values = object(key);
  if (!values) return texts;
  for (const std::string& name : values->keys())
    texts[name] = values->text(name);
  return texts;
}

const json& JsonReader::required(const std::string& key) const {
  const json* value = find(key);
  if (!value) refuse(key, "it is missing");
  return *value;
}

std::int64_t JsonReader::whole(const std::string& key, std::int64_t least, std::int64_t most) const {
  return checked(key, required(key), least, most);
}

std::string JsonReader::text(const std::string& key) const {
  required(key);
  return text(key, {});
}

JsonReader JsonReader::required_object(const std::string& key) const {
  required(key);
  return *object(key);
}

std::vector<std::string> JsonReader::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object_.items())
    keys.push_back(key);
  return keys;
}

std::string JsonReader::shown(const json& value) {
  if (value.is_structured()) return value.is_object() ? "an object" : "a list";
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
  return text.size() > 80 ? text.substr(0, 77) + "..." : text;
}

}  // namespace multicard
