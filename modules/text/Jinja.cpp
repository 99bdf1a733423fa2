// Rendering templates.

#include "text/Jinja.hpp"

#include <algorithm>

#include "base/Utf8.hpp"
#include "text/JinjaSyntax.hpp"

namespace multicard {

namespace {

using nlohmann::json;
using Expression = JinjaExpression;
using Kind = JinjaExpression::Kind;

json undefined() {
  return json(json::value_t::discarded);
}

bool is_true(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value != 0;
  if (value.is_string()) return !value.get_ref<const std::string&>().empty();
  return (value.is_array() || value.is_object()) && !value.empty();
}

std::string text_of(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return value.dump();
  if (value.is_discarded()) return "";
  throw JinjaError("a value that is no text is put out");
}

const std::string& string_of(const json& value) {
  if (!value.is_string()) throw JinjaError("a text is expected");
  return value.get_ref<const std::string&>();
}

/// About what a value takes in memory, in bytes.
std::size_t weight_of(const json& value) {
  std::size_t weight = 32;
  if (value.is_string()) return weight + value.get_ref<const std::string&>().size();
  if (value.is_object())
    for (const auto& [name, member] : value.items())
      weight += 64 + name.size() + weight_of(member);
  if (value.is_array())
    for (const json& element : value)
      weight += weight_of(element);
  return weight;
}

class Renderer {
 public:
  explicit Renderer(const json& variables) : scopes_{variables} {}

  void render(const JinjaNode& node) {
    count_step();
    switch (node.kind) {
      case JinjaNode::Kind::sequence:
        for (const auto& child : node.children)
          render(*child);
        return;
      case JinjaNode::Kind::text:
        return put(node.text);
      case JinjaNode::Kind::output:
        return put(text_of(value_of(*node.expression)));
      case JinjaNode::Kind::choice:
        if (is_true(value_of(*node.expression))) return render(*node.children[0]);
        if (node.children.size() > 1) render(*node.children[1]);
        return;
      case JinjaNode::Kind::loop:
        return loop(node);
      case JinjaNode::Kind::assignment:
        return assign(node);
    }
  }

  std::string release() { return std::move(output_); }

 private:
  void put(std::string_view text) {
    constexpr std::size_t kLongest = 1 << 20;
    output_ += text;
    if (output_.size() > kLongest) throw JinjaError("the rendered text is too long");
  }
  void count_step() {
    constexpr int kMany = 1 << 18;
    if (++num_steps_ > kMany) throw JinjaError("the template takes too many steps");
  }
  /// For memory that values take and for time in proportion to them: a few steps can double a value again and again.
  void count_weight(std::size_t weight) {
    constexpr std::size_t kMuch = 32 << 20;
    weight_ += weight;
    if (weight_ > kMuch) throw JinjaError("the template makes values that are too large");
  }

  void loop(const JinjaNode& node) {
    const json list = value_of(*node.expression);
    if (!list.is_array()) throw JinjaError("a loop over something that is no list");
    for (std::size_t i = 0; i < list.size(); ++i) {
      scopes_.push_back({{node.text, list[i]},
                         {"loop",
                          {{"index0", i},
                           {"index", i + 1},
                           {"first", i == 0},
                           {"last", i + 1 == list.size()},
                           {"length", list.size()}}}});
      render(*node.children[0]);
      scopes_.pop_back();
    }
  }

  void assign(const JinjaNode& node) {
    json value = value_of(*node.expression);
    if (node.member.empty()) {
      scopes_.back()[node.text] = std::move(value);
      return;
    }
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (scope->contains(node.text) && (*scope)[node.text].is_object()) {
        (*scope)[node.text][node.member] = std::move(value);
        return;
      }
    throw JinjaError("there is no " + node.text);
  }

  json value_of(const Expression& expression) {
    count_step();
    json value = computed(expression);
    count_weight(weight_of(value));
    return value;
  }

  json computed(const Expression& expression) {
    switch (expression.kind) {
      case Kind::literal:
        return expression.value;
      case Kind::list:
        return list_of(expression);
      case Kind::name:
        return variable(expression.name);
      case Kind::attribute:
        return element(value_of(*expression.operands[0]), expression.name);
      case Kind::item:
        return element(value_of(*expression.operands[0]), value_of(*expression.operands[1]));
      case Kind::slice:
        return slice(expression);
      case Kind::call:
        return call(expression);
      case Kind::filter:
        return filter(expression.name, value_of(*expression.operands[0]), expression);
      case Kind::test:
        return test(expression.name, value_of(*expression.operands[0]));
      case Kind::unary:
        return !is_true(value_of(*expression.operands[0]));
      case Kind::binary:
        return binary(expression);
      case Kind::choice:
        return value_of(*expression.operands[is_true(value_of(*expression.operands[0])) ? 1 : 2]);
    }
    return undefined();
  }

  json list_of(const Expression& expression) {
    json list = json::array();
    for (const auto& operand : expression.operands)
      list.push_back(value_of(*operand));
    return list;
  }

  json variable(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (const auto found = scope->find(name); found != scope->end()) return *found;
    return undefined();
  }

  static json element(const json& value, const json& key) {
    if (value.is_object() && key.is_string()) {
      const auto found = value.find(key.get_ref<const std::string&>());
      return found == value.end() ? undefined() : *found;
    }
    if (value.is_array() && key.is_number_integer()) {
      const auto size = static_cast<std::int64_t>(value.size());
      const std::int64_t index = key.get<std::int64_t>() + (key < 0 ? size : 0);
      return index >= 0 && index < size ? value[static_cast<std::size_t>(index)] : undefined();
    }
    if (value.is_discarded() || value.is_null()) throw JinjaError("an element of nothing");
    return undefined();
  }

  json slice(const Expression& expression) {
    const json value = value_of(*expression.operands[0]);
    if (!value.is_array() || expression.operands[3]) throw JinjaError("a slice is not supported");
    const auto size = static_cast<std::int64_t>(value.size());
    const auto bound = [&](const Expression::Pointer& operand, std::int64_t otherwise) {
      if (!operand) return otherwise;
      const json given = value_of(*operand);
      if (!given.is_number_integer()) throw JinjaError("a slice is not supported");
      const std::int64_t number = given.get<std::int64_t>();
      return std::clamp<std::int64_t>(number < 0 ? number + size : number, 0, size);
    };
    const std::int64_t begin = bound(expression.operands[1], 0), end = bound(expression.operands[2], size);
    json part = json::array();
    for (std::int64_t i = begin; i < end; ++i)
      part.push_back(value[static_cast<std::size_t>(i)]);
    return part;
  }

  json call(const Expression& expression) {
    const Expression& function = *expression.operands[0];
    if (function.kind == Kind::name && function.name == "namespace") {
      json members = json::object();
      for (const auto& [name, value] : expression.named)
        members[name] = value_of(*value);
      return members;
    }
    if (function.kind != Kind::attribute) throw JinjaError("a call is not supported");
    const json object = value_of(*function.operands[0]);
    const json first = expression.operands.size() > 1 ? value_of(*expression.operands[1]) : undefined();
    if (function.name == "get" && object.is_object()) return object.value(string_of(first), json());
    const std::string& text = string_of(object);
    if (function.name == "strip" && first.is_discarded()) return std::string(trimmed(text));
    if (function.name == "startswith") return text.starts_with(string_of(first));
    if (function.name == "endswith") return text.ends_with(string_of(first));
    throw JinjaError("the method " + function.name + " is not supported");
  }

  json filter(const std::string& name, const json& value, const Expression& expression) {
    if (name == "trim" && expression.operands.size() == 1) return std::string(trimmed(string_of(value)));
    if (name == "string") return text_of(value);
    if (name == "length" || name == "count") {
      if (!value.is_array() && !value.is_object()) throw JinjaError("a length is not supported");
      return value.size();
    }
    if (name == "default" && expression.operands.size() == 2)
      return value.is_discarded() ? value_of(*expression.operands[1]) : value;
    throw JinjaError("the filter " + name + " is not supported");
  }

  static json test(const std::string& name, const json& value) {
    if (name == "defined") return !value.is_discarded();
    if (name == "undefined") return value.is_discarded();
    if (name == "none") return value.is_null();
    if (name == "string") return value.is_string();
    if (name == "mapping") return value.is_object();
    if (name == "sequence" || name == "iterable") return value.is_array() || value.is_string() || value.is_object();
    if (name == "boolean") return value.is_boolean();
    if (name == "true") return value == true;
    if (name == "false") return value == false;
    throw JinjaError("the test " + name + " is not supported");
  }

  json binary(const Expression& expression) {
    const std::string& operation = expression.name;
    json left = value_of(*expression.operands[0]);
    if (operation == "and" && !is_true(left)) return left;
    if (operation == "or" && is_true(left)) return left;
    const json right = value_of(*expression.operands[1]);
    if (operation == "and" || operation == "or") return right;
    if (operation == "==") return same(left, right);
    if (operation == "!=") return !same(left, right);
    if (operation == "in") return contains(right, left);
    if (operation == "not in") return !contains(right, left);
    if (operation == "~") return text_of(left) + text_of(right);
    if (operation == "+" && left.is_string()) return string_of(left) + string_of(right);
    if (!left.is_number_integer() || !right.is_number_integer()) throw JinjaError("a sum of other things than numbers");
    return arithmetic(operation, left.get<std::int64_t>(), right.get<std::int64_t>());
  }

  static json arithmetic(const std::string& operation, std::int64_t left, std::int64_t right) {
    if (operation == "<") return left < right;
    if (operation == ">") return left > right;
    if (operation == "<=") return left <= right;
    if (operation == ">=") return left >= right;
    constexpr std::int64_t kLarge = std::int64_t{1} << 40;
    if (std::abs(left) > kLarge || std::abs(right) > kLarge) throw JinjaError("a number is too large");
    if (operation == "+") return left + right;
    if (operation == "-") return left - right;
    if (operation == "%" && right > 0) return (left % right + right) % right;
    throw JinjaError("the operation " + operation + " is not supported");
  }

  static bool same(const json& left, const json& right) {
    if (left.is_discarded() || right.is_discarded()) return left.is_discarded() && right.is_discarded();
    return left == right;
  }
  bool contains(const json& whole, const json& part) {
    if (whole.is_string()) {
      count_weight(whole.get_ref<const std::string&>().size() / 64 * string_of(part).size());  // compared at worst
      return string_of(whole).find(string_of(part)) != std::string::npos;
    }
    if (whole.is_object()) return part.is_string() && whole.contains(part.get_ref<const std::string&>());
    if (!whole.is_array()) throw JinjaError("\"in\" something that holds nothing");
    return std::find(whole.begin(), whole.end(), part) != whole.end();
  }

  std::vector<json> scopes_;
  std::string output_;
  int num_steps_ = 0;
  std::size_t weight_ = 0;
};

}  // namespace

JinjaTemplate::JinjaTemplate(std::string_view source) : root_(parse_jinja_template(source)) {}

JinjaTemplate::~JinjaTemplate() = default;

std::string JinjaTemplate::render(const nlohmann::json& variables) const {
  Renderer renderer(variables);
  renderer.render(*root_);
  return renderer.release();
}

}  // namespace multicard
