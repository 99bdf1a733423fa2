#pragma once
/// \file Reading untrusted JSON. Every error is a DataError that says what is wrong where.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace multicard {

/// Refuses what is not JSON and what is nested so deeply that it can only be meant to hurt. `origin` names the text.
nlohmann::json parse_json(std::string_view text, const std::string& origin);
/// The same with the members of objects in the order of the text.
nlohmann::ordered_json parse_ordered_json(std::string_view text, const std::string& origin);

/// A JSON object; another value and what is not JSON are a DataError with this problem and suggestion.
template <class Json>
Json parse_json_object(std::string_view text, const std::string& problem, const std::string& suggestion = {});

/// The same; an object that names a member twice, which the parser itself would not notice, is refused too. `origin`
/// names the text in the reason.
nlohmann::json parse_unambiguous_json_object(std::string_view text, const std::string& origin,
                                             const std::string& problem);

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

/// One object of a configuration file, whose errors name the file and the key. The object must outlive this.
class JsonReader {
 public:
  /// \param origin the file
  /// \param prefix of the keys, where the object stands in another
  /// \param suggestion of errors that have no better one
  JsonReader(const nlohmann::json& object, std::string origin, std::string prefix = {}, std::string suggestion = {});

  /// A key as errors name it, with the file.
  std::string place_of(const std::string& key) const;
  /// Throws a DataError that the key cannot be used.
  [[noreturn]] void refuse(const std::string& key, const std::string& why, const std::string& suggestion = {}) const;
  /// The value, or nullptr when there is none or it is null.
  const nlohmann::json* find(const std::string& key) const;
  /// Whether the key is there, perhaps with null.
  bool holds(const std::string& key) const;

  /// \name Values of one type, each `otherwise` where there is none
  /// @{
  /// A finite number above 0.
  double positive(const std::string& key, double otherwise) const;
  bool truth(const std::string& key, bool otherwise) const;
  std::string text(const std::string& key, const std::string& otherwise) const;
  /// The object of a key, if there is one.
  std::optional<JsonReader> object(const std::string& key) const;
  /// An object of numbers or texts by name, empty where there is none.
  std::map<std::string, double> numbers(const std::string& key) const;
  std::map<std::string, std::string> texts(const std::string& key) const;
  /// @}

  /// \name Values that must be there
  /// @{
  std::int64_t whole(const std::string& key, std::int64_t least, std::int64_t most) const;
  std::string text(const std::string& key) const;
  JsonReader required_object(const std::string& key) const;
  /// @}
  /// Of this object.
  std::vector<std::string> keys() const;

  /// `value`, which is that of the key or a part of it, as a whole number.
  std::int64_t checked(const std::string& key, const nlohmann::json& value, std::int64_t least,
                       std::int64_t most) const;
  /// A value as errors show it: short and in ASCII.
  static std::string shown(const nlohmann::json& value);

 private:
  const nlohmann::json& required(const std::string& key) const;

  const nlohmann::json& object_;
  std::string origin_, prefix_, suggestion_;
};

}  // namespace multicard
