#pragma once
/// \file Patterns in tokenizer files: {"String": ...} or {"Regex": ...}.

#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "text/Regex.hpp"

namespace multicard {

/// The pattern of a step; `what` names the step in errors.
Regex pattern_of(const nlohmann::json& step, const std::string& what);

/// The valid UTF-8 `text` with every match replaced.
std::string replaced(std::string_view text, const Regex& pattern, std::string_view replacement);

/// Every string in it replaced.
std::string replaced(std::string_view text, std::string_view wanted, std::string_view replacement);

/// A function that replaces what the "pattern" of a step matches by its "content".
class Replacement {
 public:
  Replacement(const nlohmann::json& step, const std::string& what);
  std::string operator()(std::string_view text) const;

 private:
  std::string literal_, content_;
  std::shared_ptr<const Regex> regex_;  ///< null: the literal text
};

}  // namespace multicard
