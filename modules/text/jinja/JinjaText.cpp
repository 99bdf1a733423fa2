#include "text/jinja/JinjaText.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "base/Utf8.hpp"
#include "text/jinja/Jinja.hpp"
#include "text/jinja/PythonText.hpp"

namespace multicard {

namespace {

std::string repr(const JinjaValue& value);

std::string repr_of_items(std::span<const JinjaValue> items) {
  std::string text;
  for (const JinjaValue& item : items)
    text.append(text.empty() ? "" : ", ").append(repr(item));
  return text;
}

std::string repr_of_dict(const JinjaDict& dict) {
  std::string text;
  for (const auto& [key, value] : dict.items)
    text.append(text.empty() ? "" : ", ").append(repr(key)).append(": ").append(repr(value));
  return "{" + text + "}";
}

/// As an element of something that is printed.
std::string repr(const JinjaValue& value) {
  if (const std::string* text = value.string()) return python_repr(*text);
  return value.is_undefined() ? "Undefined" : jinja_text(value);
}

void append_json_string(std::string& out, std::string_view text, bool escapes_non_ascii) {
  const auto append_code = [&](std::uint32_t code) { out += fmt::format("\\u{:04x}", code); };
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const auto character = static_cast<std::uint32_t>(next_character(text, at));
    constexpr std::string_view kEscaped = "\"\\\n\r\t\b\f", kLetters = "\"\\nrtbf";
    const std::size_t letter = character < 0x80 ? kEscaped.find(static_cast<char>(character)) : std::string_view::npos;
    if (letter != std::string_view::npos) {
      out += '\\';
      out += kLetters[letter];
    } else if (character < 0x20 || (escapes_non_ascii && character >= 0x7F && character < 0x10000)) {
      append_code(character);
    } else if (escapes_non_ascii && character >= 0x10000) {
      append_code(0xD800 + ((character - 0x10000) >> 10));
      append_code(0xDC00 + ((character - 0x10000) & 0x3FF));
    } else {
      out += text.substr(begin, at - begin);
    }
  }
  out += '"';
}

// json.dumps() writes what JSON lacks as JavaScript names it.
std::string json_number(const JinjaValue& value) {
  if (!value.is_real()) return std::to_string(value.integer());
  if (std::isnan(value.real())) return "NaN";
  if (std::isinf(value.real())) return value.real() < 0 ? "-Infinity" : "Infinity";
  return python_repr(value.real());
}

class JsonWriter {
 public:
  explicit JsonWriter(const JinjaJsonOptions& options) : options_(options) {}

  void write(const JinjaValue& value) {
    if (value.is_none()) {
      out_ += "null";
    } else if (value.is_boolean()) {
      out_ += value.boolean() ? "true" : "false";
    } else if (value.is_number()) {
      out_ += json_number(value);
    } else if (const std::string* text = value.string()) {
      append_json_string(out_, *text, options_.escapes_non_ascii);
    } else if (const JinjaDict* dict = value.dict()) {
      write_dict(*dict);
    } else if (const JinjaList* list = value.list();
               list && (list->kind == JinjaList::Kind::list || list->kind == JinjaList::Kind::tuple)) {
      write_row('[', list->items.size(), ']', [&](std::size_t i) { write(list->items[i]); });
    } else {
      throw JinjaError(std::string("tojson of a value of type ") + value.type_name());
    }
  }
  std::string release() { return std::move(out_); }

 private:
  template <class Write>
  void write_row(char open, std::size_t size, char close, Write&& write_item) {
    out_ += open;
    ++level_;
    for (std::size_t i = 0; i < size; ++i) {
      if (i > 0) out_ += options_.item_separator;
      break_line();
      write_item(i);
    }
    --level_;
    if (size > 0) break_line();
    out_ += close;
  }
  void break_line() {
    if (!options_.is_indented) return;
    out_ += '\n';
    for (int i = 0; i < level_; ++i)
      out_ += options_.indent;
  }

  void write_dict(const JinjaDict& dict) {
    std::vector<const std::pair<JinjaValue, JinjaValue>*> members;
    for (const auto& member : dict.items)
      members.push_back(&member);
    if (options_.sorts_keys)
      std::stable_sort(members.begin(), members.end(),
                       [](const auto* a, const auto* b) { return jinja_order(a->first, b->first) < 0; });
    write_row('{', members.size(), '}', [&](std::size_t i) {
      write_key(members[i]->first);
      out_ += options_.key_separator;
      write(members[i]->second);
    });
  }
  // json.dumps() takes numbers, booleans and None for keys and writes them as texts.
  void write_key(const JinjaValue& key) {
    if (key.is_string()) return write(key);
    if (!key.is_number() && !key.is_none()) throw JinjaError(std::string("tojson of a key of type ") + key.type_name());
    out_ += '"';
    write(key);
    out_ += '"';
  }

  const JinjaJsonOptions& options_;
  std::string out_;
  int level_ = 0;
};

}  // namespace

// Undefined writes nothing at the top, but within a list it is "Undefined". Functions and generators are written with
// their address in Python, which no two runs agree on; views and ranges no template writes. All of these are refused.
std::string jinja_text(const JinjaValue& value) {
  if (const std::string* text = value.string()) return *text;
  if (value.is_undefined()) return {};
  if (value.is_none()) return "None";
  if (value.is_boolean()) return value.boolean() ? "True" : "False";
  if (value.is_integer()) return std::to_string(value.integer());
  if (value.is_real()) return python_repr(value.real());
  if (const JinjaDict* dict = value.dict()) return repr_of_dict(*dict);
  if (const JinjaList* list = value.list()) {
    if (list->kind == JinjaList::Kind::list) return "[" + repr_of_items(list->items) + "]";
    if (list->kind == JinjaList::Kind::tuple)
      return "(" + repr_of_items(list->items) + (list->items.size() == 1 ? ",)" : ")");
  }
  throw JinjaError(std::string("a ") + value.type_name() + " is printed");
}

std::string jinja_json(const JinjaValue& value, const JinjaJsonOptions& options) {
  JsonWriter writer(options);
  writer.write(value);
  return writer.release();
}

void require_defined(const JinjaValue& value) {
  if (!value.is_undefined()) return;
  const std::string* name = value.undefined()->name;
  throw JinjaError(name ? "\"" + *name + "\" is undefined" : "a value is undefined");
}

}  // namespace multicard
