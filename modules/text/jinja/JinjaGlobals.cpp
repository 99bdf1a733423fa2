// The functions that templates find without defining them, and the arguments of all functions.

#include <algorithm>

#include <fmt/format.h>

#include "text/jinja/JinjaFilterTools.hpp"

namespace multicard {

namespace {

JinjaValue range(JinjaRuntime& runtime, const JinjaValue&, const JinjaArguments& arguments) {
  const auto bound = arguments.bind("range", {"start", "stop", "step"});
  if (!bound[0]) throw JinjaError("range needs a number");
  for (const JinjaValue* number : bound)
    if (number && !number->is_integer()) throw JinjaError("range needs integers");
  const std::int64_t begin = bound[1] ? bound[0]->integer() : 0;
  const std::int64_t end = bound[1] ? bound[1]->integer() : bound[0]->integer(), step = integer_or(bound[2], 1);
  constexpr std::size_t kMost = 100000;  // as the sandbox of Jinja has it
  if (step == 0) throw JinjaError("the step of a range is 0");
  std::vector<JinjaValue> numbers;
  for (std::int64_t i = begin; step > 0 ? i < end : i > end;) {
    numbers.emplace_back(i);
    if (numbers.size() > kMost) throw JinjaError("a range is too long");
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  runtime.spend(32 * numbers.size());
  return make_jinja_list(std::move(numbers), JinjaList::Kind::range);
}

/// The pairs that dict() and namespace() are made of: those of a dict, then the named arguments.
std::vector<std::pair<JinjaValue, JinjaValue>> members_of(const JinjaArguments& arguments) {
  std::vector<std::pair<JinjaValue, JinjaValue>> members;
  if (arguments.positional.size() > 1) throw JinjaError("dict and namespace take one value");
  for (const JinjaValue& value : arguments.positional) {
    if (!value.dict()) throw JinjaError(std::string("a dict is expected, not a ") + value.type_name());
    members = value.dict()->items;
  }
  for (const auto& [name, value] : arguments.named)
    members.emplace_back(name, value);
  return members;
}

JinjaValue dict(JinjaRuntime&, const JinjaValue&, const JinjaArguments& arguments) {
  return make_jinja_dict(members_of(arguments));
}

// The one value that a template may change, because "set" within a loop ends with the pass. The rendering owns it, so
// that a namespace which holds itself is no leak. Members with an underscore are those that the sandbox forbids.
JinjaValue name_space(JinjaRuntime& runtime, const JinjaValue&, const JinjaArguments& arguments) {
  runtime.spend(64 * (1 + arguments.named.size()));
  JinjaNamespace* members = runtime.make_namespace();
  for (const auto& [key, value] : members_of(arguments)) {
    if (string_of(key).starts_with('_')) throw JinjaError("a namespace cannot have the member " + string_of(key));
    members->set(string_of(key), value);
  }
  return members;
}

JinjaValue raise_exception(JinjaRuntime& runtime, const JinjaValue&, const JinjaArguments& arguments) {
  const auto bound = arguments.bind("raise_exception", {"message"});
  throw JinjaError(bound[0] ? runtime.text_of(*bound[0]) : "");
}

/// The template's date at midnight, as strftime() writes it in the C locale.
JinjaValue strftime_now(JinjaRuntime& runtime, const JinjaValue&, const JinjaArguments& arguments) {
  const auto bound = arguments.bind("strftime_now", {"format"});
  if (!bound[0]) throw JinjaError("strftime_now needs a format");
  std::string text;
  const std::string format = runtime.text_of(*bound[0]);
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      text += format[i];
      continue;
    }
    const Padding padding = i + 1 < format.size() && format[i + 1] == '-' ? Padding::no : Padding::yes;
    if (padding == Padding::no) ++i;
    const char letter = i + 1 < format.size() ? format[++i] : '\0';
    if (letter == 'Z' || letter == 'z') continue;  // a time without a zone
    const std::optional<std::string> field = runtime.date().field(letter, padding);
    if (!field) throw JinjaError(fmt::format("strftime_now does not know %{}", letter));
    text += *field;
  }
  return text;
}

}  // namespace

// As in Python every parameter may be given by place or by name, and none twice.
std::vector<const JinjaValue*> JinjaArguments::bind(const char* function,
                                                    std::initializer_list<std::string_view> parameters) const {
  std::vector<const JinjaValue*> bound(parameters.size(), nullptr);
  if (positional.size() > bound.size()) throw JinjaError(fmt::format("{} has too many arguments", function));
  for (std::size_t i = 0; i < positional.size(); ++i)
    bound[i] = &positional[i];
  for (const auto& [name, value] : named) {
    const auto* parameter = std::find(parameters.begin(), parameters.end(), name);
    if (parameter == parameters.end()) throw JinjaError(fmt::format("{} has no argument \"{}\"", function, name));
    const JinjaValue*& place = bound[static_cast<std::size_t>(parameter - parameters.begin())];
    if (place) throw JinjaError(fmt::format("{} has two values for \"{}\"", function, name));
    place = &value;
  }
  return bound;
}

JinjaFunction find_jinja_global(std::string_view name) {
  if (name == "range") return range;
  if (name == "dict") return dict;
  if (name == "namespace") return name_space;
  if (name == "raise_exception") return raise_exception;
  if (name == "strftime_now") return strftime_now;
  return nullptr;
}

}  // namespace multicard
