#pragma once
/// \file What templates call.

#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/JinjaValue.hpp"

namespace multicard {

class JinjaRuntime;
struct JinjaNode;

/// The arguments of a call.
class JinjaArguments {
 public:
  std::vector<JinjaValue> positional = {};
  std::vector<std::pair<std::string_view, JinjaValue>> named = {};

  /// The arguments by parameter, nullptr for those that are left out. \throws JinjaError for more arguments and for
  /// unknown names. The values stay here.
  std::vector<const JinjaValue*> bind(const char* function, std::initializer_list<std::string_view> parameters) const;
};

using JinjaFunction = JinjaValue (*)(JinjaRuntime& runtime, const JinjaValue& self, const JinjaArguments& arguments);
using JinjaPredicate = bool (*)(JinjaRuntime& runtime, const JinjaValue& value, const JinjaArguments& arguments);

/// A function of the engine, with the object whose method it is, or a macro of the template.
struct JinjaCallable {
  JinjaFunction function = nullptr;
  JinjaValue self = {};
  const JinjaNode* macro = nullptr;
  std::size_t scope = 0;  ///< that of the macro's definition
};

/// \name The tables; nullptr for an unknown name
/// @{
JinjaFunction find_jinja_filter(std::string_view name);
JinjaPredicate find_jinja_test(std::string_view name);
JinjaFunction find_jinja_global(std::string_view name);
/// \param value whose type decides
JinjaFunction find_jinja_method(const JinjaValue& value, std::string_view name);
/// @}

}  // namespace multicard
