#include "config/Yaml.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "base/Error.hpp"

namespace multicard {

namespace {

/// Deeper trees are no decks; an anchor that holds itself would be infinitely deep.
constexpr int kMaxDepth = 64;

[[noreturn]] void fail(const std::string& name, const YAML::Mark& mark, const std::string& why) {
  const std::string place = mark.is_null() ? name : fmt::format("{}:{}", name, mark.line + 1);
  throw UsageError(fmt::format("{}: cannot be read as YAML", place), why);
}

Value convert(const YAML::Node& node, const std::string& name, int depth);

Value convert_map(const YAML::Node& node, const std::string& name, int depth) {
  Value value = Value::map();
  for (const auto& entry : node) {
    if (!entry.first.IsScalar()) fail(name, entry.first.Mark(), "a key must be a single word");
    const std::string& key = entry.first.Scalar();
    if (value.find(key) != nullptr)
      fail(name, entry.first.Mark(), fmt::format("the key '{}' appears twice in the same section", key));
    value.keys.push_back(key);
    value.items.push_back(convert(entry.second, name, depth + 1));
  }
  return value;
}

Value convert(const YAML::Node& node, const std::string& name, int depth) {
  if (depth > kMaxDepth) fail(name, node.Mark(), fmt::format("it is more than {} levels deep", kMaxDepth));
  if (node.IsMap()) return convert_map(node, name, depth);
  if (node.IsScalar())  // "!" is yaml-cpp's mark of a quoted or block scalar
    return Value::scalar(node.Scalar(), node.Tag() == "!" ? Value::Quoting::quoted : Value::Quoting::plain);
  Value value;
  if (!node.IsSequence()) return value;
  value.kind = Value::Kind::list;
  for (const auto& item : node)
    value.items.push_back(convert(item, name, depth + 1));
  return value;
}

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
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() > 1) fail(name, documents[1].Mark(), "a deck is one YAML document");
    return documents.empty() ? Value{} : convert(documents.front(), name, 0);
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
