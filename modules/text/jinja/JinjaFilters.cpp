// The filters of templates that take a text or a number.

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "text/jinja/JinjaFilterTools.hpp"
#include "text/jinja/PythonText.hpp"
#include "text/unicode/Unicode.hpp"

namespace multicard {

namespace {

JinjaValue abs_filter(JinjaRuntime&, const JinjaValue& value, const JinjaArguments& arguments) {
  arguments.bind("abs", {});
  if (!value.is_number()) throw JinjaError(std::string("abs of a ") + value.type_name());
  if (value.is_real()) return std::abs(value.real());
  return value.integer() < 0 ? jinja_arithmetic(JinjaOperator::subtract, std::int64_t{0}, value)
                             : JinjaValue(value.integer());
}

/// A filter of a text and nothing else.
template <auto function>
JinjaValue of_text(JinjaRuntime& runtime, const JinjaValue& value, const JinjaArguments& arguments) {
  arguments.bind("a filter of text", {});
  return function(runtime.text_of(value));
}

/// Capitals at the beginning of words, which is not quite what str.title() does.
std::string title_of(const std::string& text) {
  std::string result;
  bool begins_word = true;
  for (const std::string_view character : python_characters(text)) {
    // Jinja splits at [-\s({\[<]. str.title() begins a word after any character without case: "It'S".
    result += begins_word ? python_upper(character) : lower_case(character);
    begins_word =
        std::string_view("-({[<").find(character) != std::string_view::npos || python_strip(character).empty();
  }
  return result;
}

// As markupsafe writes it, with numbers for the quotes. The result is an ordinary text here: Jinja's Markup would also
// escape what is later joined to it, which no chat template wants.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char character : text) {
    constexpr std::string_view kEscaped = "&<>\"'";
    constexpr std::array<const char*, 5> kWritten{"&amp;", "&lt;", "&gt;", "&#34;", "&#39;"};
    const std::size_t which = kEscaped.find(character);
    if (which == std::string_view::npos) {
      result += character;
    } else {
      result += kWritten[which];
    }
  }
  return result;
}

JinjaValue default_filter(JinjaRuntime&, const JinjaValue& value, const JinjaArguments& arguments) {
  const auto bound = arguments.bind("default", {"default_value", "boolean"});
  const bool replaces = value.is_undefined() || (is_true(bound[1]) && !value.is_true());
  if (!replaces) return value;
  return bound[0] ? *bound[0] : JinjaValue("");
}

// std::from_chars takes neither white space nor a plus sign, which Python's float() and int() do.
std::optional<double> read_real(std::string_view text) {
  text = python_strip(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  return result.ec == std::errc() && result.ptr == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

std::optional<std::int64_t> read_integer(std::string_view text, int base) {
  text = python_strip(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  if (base == 16 && (text.starts_with("0x") || text.starts_with("0X"))) text.remove_prefix(2);
  std::int64_t number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return result.ec == std::errc() && result.ptr == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

std::optional<std::int64_t> truncated(double number) {
  if (std::isnan(number)) return std::nullopt;
  if (std::abs(number) > 9.2e18) throw JinjaError("a number is too large");
  return static_cast<std::int64_t>(number);
}

// Jinja tries int() and then int(float()), so that "12.7" is 12. What is no number gives the default without an error.
JinjaValue int_filter(JinjaRuntime&, const JinjaValue& value, const JinjaArguments& arguments) {
  const auto bound = arguments.bind("int", {"default", "base"});
  const JinjaValue otherwise = bound[0] ? *bound[0] : JinjaValue(std::int64_t{0});
  require_defined(value);
  if (value.is_integer()) return value.integer();
  std::optional<std::int64_t> number;
  if (value.is_real()) {
    number = truncated(value.real());
  } else if (const std::string* text = value.string()) {
    const std::int64_t base = integer_or(bound[1], 10);
    if (base < 2 || base > 36) throw JinjaError("int has no base " + std::to_string(base));
    number = read_integer(*text, static_cast<int>(base));
    if (const auto real = number ? std::nullopt : read_real(*text)) number = truncated(*real);
  }
  return number ? JinjaValue(*number) : otherwise;
}

JinjaValue float_filter(JinjaRuntime&, const JinjaValue& value, const JinjaArguments& arguments) {
  const auto bound = arguments.bind("float", {"default"});
  require_defined(value);
  if (value.is_number()) return value.real();
  const auto number = value.string() ? read_real(*value.string()) : std::nullopt;
  if (number) return *number;
  return bound[0] ? *bound[0] : JinjaValue(0.0);
}

// "common" is Python's round(): halves go to the even neighbour, and an integer stays one. "ceil" and "floor" scale and
// always give a float.
JinjaValue round_filter(JinjaRuntime&, const JinjaValue& value, const JinjaArguments& arguments) {
  const auto bound = arguments.bind("round", {"precision", "method"});
  const std::int64_t precision = std::clamp<std::int64_t>(integer_or(bound[0], 0), -300, 300);
  const std::string method = bound[1] && bound[1]->string() ? *bound[1]->string() : "common";
  if (!value.is_number()) throw JinjaError(std::string("round of a ") + value.type_name());
  if (method == "common" && value.is_integer() && precision >= 0) return value.integer();
  if (method == "common" && !value.is_integer() && precision > 0) {
    char buffer[400];  // Python rounds to the nearest decimal number, not by scaling
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value.real(), std::chars_format::fixed,
                                   static_cast<int>(std::min<std::int64_t>(precision, 60)));
    return *read_real({buffer, static_cast<std::size_t>(end.ptr - buffer)});
  }
  const double scale = std::pow(10.0, static_cast<double>(precision)), scaled = value.real() * scale;
  if (method == "ceil") return std::ceil(scaled) / scale;
  if (method == "floor") return std::floor(scaled) / scale;
  if (method != "common") throw JinjaError("round has no method " + method);
  const double rounded = std::nearbyint(scaled) / scale;
  if (!value.is_integer()) return rounded;
  const auto whole = truncated(rounded);
  return whole ? JinjaValue(*whole) : JinjaValue(rounded);
}

JinjaValue trim_filter(JinjaRuntime& runtime, const JinjaValue& value, const JinjaArguments& arguments) {
  const auto bound = arguments.bind("trim", {"chars"});
  const std::string text = runtime.text_of(value);
  if (!is_given(bound[0])) return python_strip(text);
  runtime.spend(text.size() / 64 * string_of(*bound[0]).size());
  return python_strip(text, string_of(*bound[0]), PythonEnds::both);
}

JinjaValue replace_filter(JinjaRuntime& runtime, const JinjaValue& value, const JinjaArguments& arguments) {
  const auto bound = arguments.bind("replace", {"old", "new", "count"});
  if (!bound[0] || !bound[1]) throw JinjaError("replace needs two strings");
  const std::string text = runtime.text_of(value), old = runtime.text_of(*bound[0]), with = runtime.text_of(*bound[1]);
  runtime.spend((text.size() + 1) / std::max<std::size_t>(old.size(), 1) * with.size());
  return python_replace(text, old, with, integer_or(bound[2], -1));
}

JinjaValue indent_filter(JinjaRuntime& runtime, const JinjaValue& value, const JinjaArguments& arguments) {
  const auto bound = arguments.bind("indent", {"width", "first", "blank"});
  const std::string* given = bound[0] ? bound[0]->string() : nullptr;
  const std::int64_t width = given ? 0 : std::clamp<std::int64_t>(integer_or(bound[0], 4), 0, 10000);
  const std::string margin = given ? *given : std::string(static_cast<std::size_t>(width), ' ');
  const bool indents_blank = is_true(bound[2]);
  // As in Jinja: splitlines() would drop an empty last line.
  const std::string text = string_of(value) + "\n";
  const std::vector<std::string_view> lines = python_lines(text);
  runtime.spend(lines.size() * margin.size());
  std::string result;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool is_indented = i == 0 ? is_true(bound[1]) : indents_blank || !lines[i].empty();
    if (i > 0) result += '\n';
    if (is_indented) result += margin;
    result += lines[i];
  }
  return result;
}

// transformers replaces Jinja's filter by plain json.dumps(ensure_ascii=False): nothing is escaped for HTML, and
// members keep their order. An indent takes the space after the comma away. What separators and margins may multiply is
// counted before anything is written.
JinjaValue tojson_filter(JinjaRuntime& runtime, const JinjaValue& value, const JinjaArguments& arguments) {
  const auto bound = arguments.bind("tojson", {"ensure_ascii", "indent", "separators", "sort_keys"});
  JinjaJsonOptions options;
  options.escapes_non_ascii = is_true(bound[0]);
  options.sorts_keys = is_true(bound[3]);
  if (is_given(bound[1])) {
    options.is_indented = true;
    options.item_separator = ",";
    options.indent = bound[1]->string() ? *bound[1]->string()
                                        : std::string(std::clamp<std::int64_t>(integer_or(bound[1], 0), 0, 100), ' ');
  }
  if (is_given(bound[2])) {
    const JinjaList* pair = bound[2]->list();
    if (!pair || pair->items.size() != 2) throw JinjaError("the separators of tojson are not two strings");
    options.item_separator = string_of(pair->items[0]);
    options.key_separator = string_of(pair->items[1]);
  }
  constexpr std::size_t kLongest = 100;
  if (std::max({options.indent.size(), options.item_separator.size(), options.key_separator.size()}) > kLongest)
    throw JinjaError("the indent or a separator of tojson is too long");
  const std::size_t each = options.item_separator.size() + options.key_separator.size() +
                           options.indent.size() * static_cast<std::size_t>(value.depth() + 1);
  runtime.spend(2 * value.weight() + value.weight() / 16 * each);
  return jinja_json(value, options);
}

JinjaValue string_filter(JinjaRuntime& runtime, const JinjaValue& value, const JinjaArguments& arguments) {
  arguments.bind("string", {});
  return value.string() ? value : JinjaValue(runtime.text_of(value));
}

JinjaValue format_filter(JinjaRuntime& runtime, const JinjaValue& value, const JinjaArguments& arguments) {
  if (!arguments.named.empty()) throw JinjaError("format with named values is not supported");
  return jinja_percent_format(runtime, runtime.text_of(value),
                              make_jinja_list(arguments.positional, JinjaList::Kind::tuple));
}

}  // namespace

JinjaFunction find_jinja_filter(std::string_view name) {
  static const std::map<std::string, JinjaFunction, std::less<>> kFilters{
      {"abs", abs_filter},
      {"capitalize", of_text<python_capitalize>},
      {"d", default_filter},
      {"default", default_filter},
      {"e", of_text<escaped>},
      {"escape", of_text<escaped>},
      {"float", float_filter},
      {"format", format_filter},
      {"indent", indent_filter},
      {"int", int_filter},
      {"lower", of_text<lower_case>},
      {"replace", replace_filter},
      {"round", round_filter},
      {"safe", string_filter},  // nothing is escaped by itself
      {"string", string_filter},
      {"title", of_text<title_of>},
      {"tojson", tojson_filter},
      {"trim", trim_filter},
      {"upper", of_text<python_upper>},
  };
  const auto found = kFilters.find(name);
  return found == kFilters.end() ? find_jinja_row_filter(name) : found->second;
}

}  // namespace multicard
