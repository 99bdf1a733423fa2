#pragma once
/// \file As much of Jinja as chat templates use for plain conversations.

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace multicard {

/// The template is wrong, raises an exception itself, or needs what is not supported (macros, tools, dates).
struct JinjaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct JinjaNode;

/// A parsed template, with the settings that chat templates are rendered with (trim_blocks, lstrip_blocks).
class JinjaTemplate {
 public:
  explicit JinjaTemplate(std::string_view source);
  ~JinjaTemplate();
  JinjaTemplate(const JinjaTemplate&) = delete;
  JinjaTemplate& operator=(const JinjaTemplate&) = delete;

  /// `variables` is an object. Ends after a bounded number of steps and of bytes in values, if need be with a
  /// JinjaError.
  std::string render(const nlohmann::json& variables) const;

 private:
  std::unique_ptr<const JinjaNode> root_;
};

}  // namespace multicard
