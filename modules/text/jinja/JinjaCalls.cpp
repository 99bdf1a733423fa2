// Calling methods, functions, macros and recursive loops.

#include <algorithm>

#include "text/jinja/JinjaRuntime.hpp"
#include "text/jinja/JinjaText.hpp"

namespace multicard {

JinjaArguments JinjaRuntime::arguments_of(const Expression& expression) {
  JinjaArguments arguments;
  for (std::size_t i = 1; i < expression.operands.size(); ++i)
    arguments.positional.push_back(value_of(*expression.operands[i]));
  for (const auto& [name, value] : expression.named)
    arguments.named.emplace_back(name, value_of(*value));
  return arguments;
}

// An error of a template ends its whole rendering: scopes and captured text that an exception leaves open are never
// looked at again, so that open() and close() need no guards.
JinjaValue JinjaRuntime::call(const Expression& expression) {
  const Expression& function = *expression.operands[0];
  if (function.kind == JinjaExpression::Kind::attribute) {  // a method, without an object for it
    const JinjaValue self = value_of(*function.operands[0]);
    if (const JinjaFunction method = find_jinja_method(self, function.name)) {
      spend_on(self);
      JinjaValue result = method(*this, self, arguments_of(expression));
      spend_on(result);
      return result;
    }
    const JinjaValue member = attribute(self, function.name);
    if (!member.callable())
      throw JinjaError(std::string("a ") + self.type_name() + " has no method \"" + function.name + "\"");
    return call(*member.callable(), arguments_of(expression));
  }
  const JinjaValue callee = value_of(function);
  require_defined(callee);
  if (const JinjaLoop* loop = callee.loop()) return call_loop(*loop, arguments_of(expression));
  if (!callee.callable()) throw JinjaError(std::string("a ") + callee.type_name() + " is called");
  return call(*callee.callable(), arguments_of(expression));
}

JinjaValue JinjaRuntime::call(const JinjaCallable& callable, const JinjaArguments& arguments) {
  if (callable.macro) return call_macro(callable, arguments);
  spend_on(callable.self);
  JinjaValue result = callable.function(*this, callable.self, arguments);
  spend_on(result);
  return result;
}

// A macro sees the scopes around its definition, not those around its call. Defaults are evaluated one after the other
// within its own scope, so that one may refer to a parameter before it. `caller` is undefined unless a call block gives
// it: that of a macro further out must not be seen, in the body of a call block either. Jinja's `varargs` and `kwargs`
// are left out, and surplus arguments are errors, as for a macro that does not name them.
JinjaValue JinjaRuntime::call_macro(const JinjaCallable& callable, const JinjaArguments& arguments) {
  const JinjaLimits::Level level(limits_);
  const JinjaNode& macro = *callable.macro;
  const JinjaScopes::Visit visit(scopes_, callable.scope);
  const std::size_t num_parameters = macro.targets.size() - 1;
  const auto fail = [&](const char* problem) {
    throw JinjaError("the macro " + macro.targets[0].name + " is called with " + problem);
  };
  if (arguments.positional.size() > num_parameters) fail("too many arguments");
  scopes_.open();
  scopes_.set(*caller_symbol_, JinjaUndefined{program_.symbols.names()[*caller_symbol_]});
  for (std::size_t i = 0; i < num_parameters; ++i) {
    const Node::Target& parameter = macro.targets[i + 1];
    const JinjaValue* given = i < arguments.positional.size() ? &arguments.positional[i] : nullptr;
    for (const auto& [name, value] : arguments.named) {
      if (name != parameter.name) continue;
      if (given) fail("two values for one parameter");
      given = &value;
    }
    if (given) {
      scopes_.set(parameter.symbol, *given);
    } else {
      scopes_.set(parameter.symbol,
                  macro.more[i] ? value_of(*macro.more[i]) : JinjaValue(JinjaUndefined{&parameter.name}));
    }
  }
  for (const auto& [name, value] : arguments.named) {
    const bool is_parameter = std::any_of(macro.targets.begin() + 1, macro.targets.end(),
                                          [&, &called = name](const auto& target) { return target.name == called; });
    if (!is_parameter && name != "caller") fail("an unknown keyword argument");
    if (!is_parameter) scopes_.set(*caller_symbol_, value);
  }
  std::string text = captured([&] { render(*macro.children[0]); });
  scopes_.close();
  return text;
}

/// What a recursive loop writes for other values.
JinjaValue JinjaRuntime::call_loop(const JinjaLoop& loop, const JinjaArguments& arguments) {
  const JinjaLimits::Level level(limits_);
  const auto bound = arguments.bind("loop", {"iterable"});
  if (!loop.recursive || !bound[0]) throw JinjaError("a loop is called that is not recursive, or without values");
  const JinjaScopes::Visit visit(scopes_, loop.scope);
  return captured(
      [&] { render_items(*loop.recursive, chosen_items(*loop.recursive, *bound[0]), loop.num_around + 1); });
}

}  // namespace multicard
