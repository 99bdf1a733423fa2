#include "config/Yaml.hpp"

#include <fmt/format.h>
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

/// From the library's graph, in which an alias is one node however often it is used, to a tree.
class Expansion {
 public:
  explicit Expansion(const std::string& name) : name_(name) {}

  Value tree(const YAML::Node& node, int depth) {
    if (depth > kMaxDepth) fail(name_, node.Mark(), fmt::format("it is more than {} levels deep", kMaxDepth));
    if (++num_values_ > kMostValues)
      fail(name_, node.Mark(),
           fmt::format("it has more than {} values when its aliases are expanded", grouped(kMostValues)));
    if (node.IsMap()) return map(node, depth);
    if (node.IsScalar())  // "!" is yaml-cpp's mark of a quoted or block scalar
      return Value::scalar(node.Scalar(), node.Tag() == "!" ? Value::Quoting::quoted : Value::Quoting::plain);
    Value value;
    if (!node.IsSequence()) return value;
    value.kind = Value::Kind::list;
    for (const auto& item : node)
      value.items.push_back(tree(item, depth + 1));
    return value;
  }

 private:
  Value map(const YAML::Node& node, int depth) {
    Value value = Value::map();
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) fail(name_, entry.first.Mark(), "a key must be a single word");
      const std::string& key = entry.first.Scalar();
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
};

void emit(YAML::Emitter& out, const Value& value, bool inside_flow) {
  switch (value.kind) {
    case Value::Kind::null:
      out << YAML::Null;
      return;
    case Value::Kind::scalar:
      if (value.quoting == Value::Quoting::quoted) out << YAML::DoubleQuoted;
      out << value.text;
      return;
    case Value::Kind::list:
      out << YAML::Flow << YAML::BeginSeq;
      for (const Value& item : value.items)
        emit(out, item, true);
      out << YAML::EndSeq;
      return;
    case Value::Kind::map:
      const bool flow = inside_flow || value.items.empty();
      out << (flow ? YAML::Flow : YAML::Block) << YAML::BeginMap;
      for (std::size_t i = 0; i < value.keys.size(); ++i) {
        out << YAML::Key << value.keys[i] << YAML::Value;
        emit(out, value.items[i], flow);
      }
      out << YAML::EndMap;
  }
}

}  // namespace

Value parse_yaml(const std::string& text, const std::string& name) {
  require_utf8(text, name);
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() > 1) fail(name, documents[1].Mark(), "a deck is one YAML document");
    return documents.empty() ? Value{} : Expansion(name).tree(documents.front(), 0);
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
