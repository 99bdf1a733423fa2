#include "config/Yaml.hpp"

#include <algorithm>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "base/Error.hpp"
#include "base/Shown.hpp"
#include "base/Text.hpp"
#include "base/Utf8.hpp"

namespace multicard {

namespace {

/// Deeper trees are no decks; an anchor that holds itself would be infinitely deep.
constexpr int kMaxDepth = 64;
/// A few lines of aliases of aliases would otherwise become billions of values.
constexpr int kMostValues = 20'000;
constexpr std::size_t kMostBytes = 16 << 20;
constexpr std::size_t kLongestKey = 100;

[[noreturn]] void fail(const std::string& name, const YAML::Mark& mark, const std::string& why) {
  const std::string place = mark.is_null() ? name : fmt::format("{}:{}", name, mark.line + 1);
  throw UsageError(fmt::format("{}: cannot be read as YAML", place), why);
}

/// The library would put U+FFFD in place of other bytes, and no file has such a name. What begins with a mark is
/// UTF-16.
void require_utf8(const std::string& text, const std::string& name) {
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) return;
  int line = 1;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = valid_length(text, at);
    if (length == 0)
      throw UsageError(fmt::format("{}:{}: cannot be read as YAML", name, line), "it is not valid UTF-8",
                       "Rename files whose names are not UTF-8.");
    line += text[at] == '\n' ? 1 : 0;
    at += length;
  }
}

/// Where documents begin.
class DocumentBegins : public YAML::EventHandler {
 public:
  std::vector<YAML::Mark> marks;

  void OnDocumentStart(const YAML::Mark& mark) override { marks.push_back(mark); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

/// At a character that has no place there, such as a comma in front, the library finds one empty document after the
/// other and never ends (YAML::LoadAll), so no more than two are looked for.
void require_one_document(const std::string& text, const std::string& name) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentBegins begins;
  if (parser.HandleNextDocument(begins) && parser.HandleNextDocument(begins))
    fail(name, begins.marks.back(), "a deck is one YAML document");
}

/// From the library's graph, in which an alias is one node however often it is used, to a tree.
class Expansion {
 public:
  explicit Expansion(const std::string& name) : name_(name) {}

  Value tree(const YAML::Node& node, int depth) {
    if (depth > kMaxDepth) fail(name_, node.Mark(), fmt::format("it is more than {} levels deep", kMaxDepth));
    // Counted while the tree grows, not afterwards: its size is not known before, and may be too much for the memory.
    if (++num_values_ > kMostValues)
      fail(name_, node.Mark(),
           fmt::format("it has more than {} values when its aliases are expanded", grouped(kMostValues)));
    if (node.IsMap()) return map(node, depth);
    if (node.IsScalar()) return scalar(node);
    Value value;
    if (!node.IsSequence()) return value;
    value.kind = Value::Kind::list;
    for (const auto& item : node)
      value.items.push_back(tree(item, depth + 1));
    return value;
  }

 private:
  void count_text(const std::string& text, const YAML::Mark& mark) {
    num_bytes_ += text.size();
    if (num_bytes_ > kMostBytes)
      fail(name_, mark, fmt::format("it has more than {} MiB of text when its aliases are expanded", kMostBytes >> 20));
  }

  Value scalar(const YAML::Node& node) {
    count_text(node.Scalar(), node.Mark());
    const bool is_quoted = node.Tag() == "!";  // yaml-cpp's mark of quoted and block scalars
    return Value::scalar(node.Scalar(), is_quoted ? Value::Quoting::quoted : Value::Quoting::plain);
  }

  Value map(const YAML::Node& node, int depth) {
    Value value = Value::map();
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) fail(name_, entry.first.Mark(), "a key must be a single word");
      const std::string& key = entry.first.Scalar();
      count_text(key, entry.first.Mark());
      if (value.find(key) != nullptr)
        fail(name_, entry.first.Mark(),
             fmt::format("the key '{}' appears twice in the same section", shown(key, kLongestKey)));
      value.keys.push_back(key);
      value.items.push_back(tree(entry.second, depth + 1));
    }
    return value;
  }

  const std::string& name_;
  int num_values_ = 0;
  std::size_t num_bytes_ = 0;
};

/// The library writes control characters as they are, and reads a carriage return as a line's end.
void emit_word(YAML::Emitter& out, const std::string& text, bool is_quoted) {
  // Bytes of longer UTF-8 characters are negative where char is signed; they are written as they are.
  const bool has_control = std::any_of(text.begin(), text.end(), [](char c) { return c >= 0 && c < ' '; });
  if (is_quoted || has_control) out << YAML::DoubleQuoted;
  out << text;
}

void emit(YAML::Emitter& out, const Value& value, bool inside_flow) {
  switch (value.kind) {
    case Value::Kind::null:
      out << YAML::Null;
      return;
    case Value::Kind::scalar:
      emit_word(out, value.text, value.quoting == Value::Quoting::quoted);
      return;
    case Value::Kind::list:
      // Flow style all the way down: what a list holds must fit on its line, as overrides and messages show it.
      out << YAML::Flow << YAML::BeginSeq;
      for (const Value& item : value.items)
        emit(out, item, true);
      out << YAML::EndSeq;
      return;
    case Value::Kind::map:
      const bool flow = inside_flow || value.items.empty();
      out << (flow ? YAML::Flow : YAML::Block) << YAML::BeginMap;
      for (std::size_t i = 0; i < value.keys.size(); ++i) {
        out << YAML::Key;
        emit_word(out, value.keys[i], false);
        out << YAML::Value;
        emit(out, value.items[i], flow);
      }
      out << YAML::EndMap;
  }
}

}  // namespace

Value parse_yaml(const std::string& text, const std::string& name) {
  require_utf8(text, name);
  // YAML::Load reads the first document and ignores all others, hence the check before it.
  try {
    require_one_document(text, name);
    return Expansion(name).tree(YAML::Load(text), 0);
  } catch (const YAML::Exception& error) {
    fail(name, error.mark, error.msg);
  }
}

std::string emit_yaml(const Value& value) {
  YAML::Emitter out;
  emit(out, value, false);
  return std::string(out.c_str()) + "\n";
}

std::string emit_inline(const Value& value) {
  if (value.kind == Value::Kind::scalar) return value.text;
  if (value.is_null()) return "null";
  // For messages and run names, not to be read back: words stand without quotes, whatever they hold.
  std::string text;
  const bool map = value.is_map();
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    if (i > 0) text += ", ";
    if (map) text += value.keys[i] + ": ";
    text += emit_inline(value.items[i]);
  }
  return map ? "{" + text + "}" : "[" + text + "]";
}

}  // namespace multicard
