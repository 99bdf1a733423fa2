#pragma once
/// \file Patterns in tokenizer files: {"String": ...} or {"Regex": ...}.

#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "text/regex/Regex.hpp"
#include "text/unicode/TextRoom.hpp"

namespace multicard {

/// The pattern of a step; `what` names the step in errors.
Regex pattern_of(const nlohmann::json& step, const std::string& what);

/// Every string in it replaced.
std::string replaced(std::string_view text, std::string_view wanted, std::string_view replacement);

/// A function that replaces what the "pattern" of a step matches by its "content".
class Replacement {
 public:
  Replacement(const nlohmann::json& step, const std::string& what);
  /// \throws DataError when the result is longer than the room, of which it takes nothing
  std::string operator()(std::string_view text, const TextRoom& room) const;

 private:
  /// Calls `found` for each match.
  template <class Found>
  void for_each(std::string_view text, Found&& found) const;

  std::string literal_, content_;
  std::shared_ptr<const Regex> regex_;  ///< null: the literal text
};

}  // namespace multicard
