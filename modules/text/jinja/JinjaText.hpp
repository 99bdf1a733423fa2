#pragma once
/// \file Values of templates as text.

#include <string>

#include "text/jinja/JinjaValue.hpp"

namespace multicard {

/// str(value); undefined gives nothing. \throws JinjaError for what has no stable text (functions, views, generators)
std::string jinja_text(const JinjaValue& value);

/// \throws JinjaError saying that `value`, or the name it comes from, is undefined.
void require_defined(const JinjaValue& value);

struct JinjaJsonOptions {
  bool escapes_non_ascii = false;
  bool sorts_keys = false;
  bool is_indented = false;
  std::string indent = {};
  std::string item_separator = ", ", key_separator = ": ";
};

/// json.dumps(value)
std::string jinja_json(const JinjaValue& value, const JinjaJsonOptions& options);

}  // namespace multicard
