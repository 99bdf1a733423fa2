#include "profile/trace/TraceKeys.hpp"

#include <simdjson.h>

#include "profile/trace/JsonToken.hpp"

namespace multicard {

namespace {

std::string unescaped(std::string_view token) {
  if (token.empty()) throw WrongEvent{"it has no name"};
  if (!is_json_string(token)) throw WrongEvent{"its name is not a string"};
  simdjson::dom::parser parser;
  std::string_view text;
  if (parser.parse(token.data(), token.size()).get(text) != simdjson::SUCCESS)
    throw WrongEvent{"its name has an escape that JSON does not know"};
  return std::string(text);
}

}  // namespace

std::int32_t TokenNames::id(std::string_view token) {
  const auto found = ids_.find(token);
  if (found != ids_.end()) return found->second;
  const std::int32_t id = names_.id(unescaped(token));
  ids_.emplace(token, id);
  return id;
}

}  // namespace multicard
