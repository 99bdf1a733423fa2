// The methods of strings.

#include <algorithm>

#include "base/Utf8.hpp"
#include "text/jinja/JinjaFilterTools.hpp"
#include "text/jinja/PythonText.hpp"
#include "text/unicode/Unicode.hpp"

namespace multicard {

namespace {

using Arguments = JinjaArguments;
using Value = JinjaValue;

template <auto function>
Value of_text(JinjaRuntime&, const Value& self, const Arguments& arguments) {
  arguments.bind("a method", {});
  return function(*self.string());
}

template <PythonEnds ends>
Value strip(JinjaRuntime& runtime, const Value& self, const Arguments& arguments) {
  const auto bound = arguments.bind("strip", {"chars"});
  if (!is_given(bound[0])) return python_strip(*self.string(), ends);
  runtime.spend(self.string()->size() / 64 * string_of(*bound[0]).size());
  return python_strip(*self.string(), string_of(*bound[0]), ends);
}

// Searching costs at worst the product of both lengths; a 64th of it is counted, because bytes are compared many at a
// time.
template <PythonEnds from>
Value split(JinjaRuntime& runtime, const Value& self, const Arguments& arguments) {
  const auto bound = arguments.bind("split", {"sep", "maxsplit"});
  std::optional<std::string_view> separator;
  if (is_given(bound[0])) separator = string_of(*bound[0]);
  if (separator && separator->empty()) throw JinjaError("an empty separator");
  if (separator) runtime.spend(self.string()->size() / 64 * separator->size());
  std::vector<Value> parts;
  for (const std::string_view part : python_split(*self.string(), separator, integer_or(bound[1], -1), from))
    parts.emplace_back(part);
  runtime.spend(64 * parts.size());
  return make_jinja_list(std::move(parts));
}

Value splitlines(JinjaRuntime& runtime, const Value& self, const Arguments& arguments) {
  arguments.bind("splitlines", {});
  std::vector<Value> lines;
  for (const std::string_view line : python_lines(*self.string()))
    lines.emplace_back(line);
  runtime.spend(64 * lines.size());
  return make_jinja_list(std::move(lines));
}

template <PythonEnds from>
Value partition(JinjaRuntime& runtime, const Value& self, const Arguments& arguments) {
  const auto bound = arguments.bind("partition", {"sep"});
  if (!bound[0] || string_of(*bound[0]).empty()) throw JinjaError("partition needs a separator");
  const std::string &text = *self.string(), &separator = string_of(*bound[0]);
  runtime.spend(text.size() / 64 * separator.size());
  const std::size_t at = from == PythonEnds::left ? text.find(separator) : text.rfind(separator);
  std::vector<Value> parts{"", "", ""};
  if (at == std::string::npos) {
    parts[from == PythonEnds::left ? 0 : 2] = text;
  } else {
    parts = {text.substr(0, at), separator, text.substr(at + separator.size())};
  }
  return make_jinja_list(std::move(parts), JinjaList::Kind::tuple);
}

/// Whether the text has one of the strings at an end.
template <PythonEnds end>
Value affix(JinjaRuntime&, const Value& self, const Arguments& arguments) {
  const auto bound = arguments.bind("startswith and endswith", {"affix"});
  if (!bound[0]) throw JinjaError("startswith and endswith need a string");
  const auto has = [&](const Value& part) {
    return end == PythonEnds::left ? self.string()->starts_with(string_of(part))
                                   : self.string()->ends_with(string_of(part));
  };
  const JinjaList* several = bound[0]->list();
  if (!several) return has(*bound[0]);
  // Python takes a tuple here and no list.
  if (several->kind != JinjaList::Kind::tuple) throw JinjaError("startswith and endswith of a list");
  return std::any_of(several->items.begin(), several->items.end(), has);
}

template <PythonEnds end>
Value remove_affix(JinjaRuntime&, const Value& self, const Arguments& arguments) {
  const auto bound = arguments.bind("removeprefix and removesuffix", {"affix"});
  if (!bound[0]) throw JinjaError("removeprefix and removesuffix need a string");
  std::string_view text = *self.string();
  const std::string& part = string_of(*bound[0]);
  if (end == PythonEnds::left && text.starts_with(part)) text.remove_prefix(part.size());
  if (end == PythonEnds::right && text.ends_with(part)) text.remove_suffix(part.size());
  return text;
}

Value replace(JinjaRuntime& runtime, const Value& self, const Arguments& arguments) {
  const auto bound = arguments.bind("replace", {"old", "new", "count"});
  if (!bound[0] || !bound[1]) throw JinjaError("replace needs two strings");
  const std::string &old = string_of(*bound[0]), &with = string_of(*bound[1]);
  runtime.spend((self.string()->size() + 1) / std::max<std::size_t>(old.size(), 1) * with.size());
  return python_replace(*self.string(), old, with, integer_or(bound[2], -1));
}

Value join(JinjaRuntime& runtime, const Value& self, const Arguments& arguments) {
  const auto bound = arguments.bind("join", {"iterable"});
  if (!bound[0]) throw JinjaError("join needs a list");
  std::string text;
  bool is_first = true;
  const auto items = runtime.items_of(*bound[0]);
  for (const Value& item : items->items) {
    if (!std::exchange(is_first, false)) text += *self.string();
    text += string_of(item);
    runtime.spend(string_of(item).size() + self.string()->size());
  }
  return text;
}

/// The place of a character as Python counts them, -1 for none.
std::int64_t place(const std::string& text, std::size_t at) {
  // A place in UTF-8 becomes one in characters, which is what templates slice with.
  return at == std::string::npos ? -1 : static_cast<std::int64_t>(num_characters(std::string_view(text).substr(0, at)));
}

template <PythonEnds from>
Value find(JinjaRuntime& runtime, const Value& self, const Arguments& arguments) {
  const auto bound = arguments.bind("find", {"sub"});
  if (!bound[0]) throw JinjaError("find needs a string");
  const std::string &text = *self.string(), &part = string_of(*bound[0]);
  runtime.spend(text.size() / 64 * part.size());
  return place(text, from == PythonEnds::left ? text.find(part) : text.rfind(part));
}

Value index(JinjaRuntime& runtime, const Value& self, const Arguments& arguments) {
  Value at = find<PythonEnds::left>(runtime, self, arguments);
  if (at.integer() < 0) throw JinjaError("the string is not there");
  return at;
}

Value count_text(JinjaRuntime& runtime, const Value& self, const Arguments& arguments) {
  const auto bound = arguments.bind("count", {"sub"});
  if (!bound[0]) throw JinjaError("count needs a string");
  const std::string &text = *self.string(), &part = string_of(*bound[0]);
  // Between all characters, and at both ends.
  if (part.empty()) return static_cast<std::int64_t>(num_characters(text) + 1);
  runtime.spend(text.size() / 64 * part.size());
  std::int64_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
    ++count;
  return count;
}

template <auto accepts>
bool all_characters(const std::string& text) {
  for (std::size_t at = 0; at < text.size();)
    if (!accepts(next_character(text, at))) return false;
  return !text.empty();
}

/// "{}" and "{0}" and "{name}", without what may follow a name there.
Value format(JinjaRuntime& runtime, const Value& self, const Arguments& arguments) {
  const std::string& text = *self.string();
  std::string result;
  std::size_t next = 0;
  const auto value_of = [&](const std::string& name) -> const Value& {
    const bool is_number =
        !name.empty() && name.find_first_not_of("0123456789") == std::string::npos && name.size() < 4;
    if (name.empty() || is_number) {
      const std::size_t i = name.empty() ? next++ : static_cast<std::size_t>(std::stoi(name));
      if (i < arguments.positional.size()) return arguments.positional[i];
    }
    for (const auto& [key, value] : arguments.named)
      if (key == name) return value;
    throw JinjaError("format has no value for {" + name + "}");
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    if ((text[at] == '{' || text[at] == '}') && at + 1 < text.size() && text[at + 1] == text[at]) {
      result += text[at++];
    } else if (text[at] == '{') {
      const std::size_t end = text.find('}', at);
      if (end == std::string::npos) throw JinjaError("a format string is not complete");
      result += runtime.text_of(value_of(text.substr(at + 1, end - at - 1)));
      at = end;
    } else if (text[at] == '}') {
      throw JinjaError("a format string is not complete");
    } else {
      result += text[at];
    }
  }
  return result;
}

}  // namespace

JinjaFunction find_jinja_text_method(std::string_view name) {
  static const std::map<std::string, JinjaFunction, std::less<>> kMethods{
      {"capitalize", of_text<python_capitalize>},
      {"count", count_text},
      {"endswith", affix<PythonEnds::right>},
      {"find", find<PythonEnds::left>},
      {"format", format},
      {"index", index},
      {"isalpha", of_text<all_characters<is_letter>>},
      // isdigit() and isnumeric() are one here; in Python they differ for fractions and some scripts' numbers.
      {"isdigit", of_text<all_characters<is_numeric>>},
      {"islower", of_text<python_is_lower>},
      {"isnumeric", of_text<all_characters<is_numeric>>},
      {"isspace", of_text<all_characters<is_python_space>>},
      {"isupper", of_text<python_is_upper>},
      {"join", join},
      {"lower", of_text<lower_case>},
      {"lstrip", strip<PythonEnds::left>},
      {"partition", partition<PythonEnds::left>},
      {"removeprefix", remove_affix<PythonEnds::left>},
      {"removesuffix", remove_affix<PythonEnds::right>},
      {"replace", replace},
      {"rfind", find<PythonEnds::right>},
      {"rpartition", partition<PythonEnds::right>},
      {"rsplit", split<PythonEnds::right>},
      {"rstrip", strip<PythonEnds::right>},
      {"split", split<PythonEnds::left>},
      {"splitlines", splitlines},
      {"startswith", affix<PythonEnds::left>},
      {"strip", strip<PythonEnds::both>},
      {"title", of_text<python_title>},
      {"upper", of_text<python_upper>},
  };
  const auto found = kMethods.find(name);
  return found == kMethods.end() ? nullptr : found->second;
}

}  // namespace multicard
