#include "profile/trace/TraceKeys.hpp"

#include <simdjson.h>

namespace multicard {

namespace {

std::string unescaped(std::string_view token) {
  simdjson::dom::parser parser;
  std::string_view text;
  if (parser.parse(token.data(), token.size()).get(text) != simdjson::SUCCESS)
    throw WrongEvent{"its name is not a string"};
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
