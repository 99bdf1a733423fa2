// Parsing the expressions of templates.

#include <algorithm>
#include <cctype>
#include <initializer_list>

#include "text/JinjaSyntax.hpp"

namespace multicard {

namespace {

using Pointer = JinjaExpression::Pointer;
using Kind = JinjaExpression::Kind;

Pointer make(Kind kind, std::string name = {}) {
  auto expression = std::make_unique<JinjaExpression>();
  expression->kind = kind;
  expression->name = std::move(name);
  return expression;
}

/// A chain like a.a.a or a + a + a is as deep as it is long.
void count_depth(JinjaExpression& parent, const Pointer& child) {
  constexpr int kDeepest = 500;
  if (child) parent.depth = std::max(parent.depth, child->depth + 1);
  if (parent.depth > kDeepest) throw JinjaError("an expression has too many links");
}

void add_operand(JinjaExpression& parent, Pointer operand) {
  count_depth(parent, operand);
  parent.operands.push_back(std::move(operand));
}

Pointer make(Kind kind, std::string name, Pointer first, Pointer second = nullptr) {
  Pointer expression = make(kind, std::move(name));
  add_operand(*expression, std::move(first));
  if (second) add_operand(*expression, std::move(second));
  return expression;
}

bool is_name_character(char character) {
  return std::isalnum(static_cast<unsigned char>(character)) || character == '_';
}

/// Recursive descent, a function for each level of binding.
class Parser {
 public:
  explicit Parser(std::string_view source) : source_(source) {}

  Pointer whole() {
    Pointer expression = choice();
    skip_space();
    if (at_ != source_.size()) throw JinjaError("unexpected " + std::string(source_.substr(at_, 20)));
    return expression;
  }

 private:
  Pointer choice() {
    if (++depth_ > kDeepest) throw JinjaError("an expression is nested too deeply");
    Pointer value = disjunction();
    if (take_word("if")) {
      Pointer condition = disjunction();
      Pointer otherwise = take_word("else") ? choice() : literal("");
      Pointer result = make(Kind::choice, "", std::move(condition), std::move(value));
      add_operand(*result, std::move(otherwise));
      value = std::move(result);
    }
    --depth_;
    return value;
  }

  Pointer disjunction() {
    Pointer left = conjunction();
    while (take_word("or"))
      left = make(Kind::binary, "or", std::move(left), conjunction());
    return left;
  }
  Pointer conjunction() {
    Pointer left = negation();
    while (take_word("and"))
      left = make(Kind::binary, "and", std::move(left), negation());
    return left;
  }
  Pointer negation() {
    bool is_negated = false;
    while (take_word("not"))
      is_negated = !is_negated;
    Pointer value = comparison();
    return is_negated ? make(Kind::unary, "not", std::move(value)) : std::move(value);
  }
  Pointer comparison() {
    Pointer left = sum();
    while (true) {
      const std::string operation = take_comparison();
      if (operation.empty()) return left;
      left = make(Kind::binary, operation, std::move(left), sum());
    }
  }
  std::string take_comparison() {
    for (const char* symbol : {"==", "!=", "<=", ">=", "<", ">"})
      if (take_symbol(symbol)) return symbol;
    if (take_word("in")) return "in";
    const std::size_t before = at_;
    if (take_word("not") && take_word("in")) return "not in";
    at_ = before;
    return "";
  }
  Pointer sum() {
    Pointer left = product();
    while (true) {
      const char* operation = take_symbol("+") ? "+" : take_symbol("-") ? "-" : take_symbol("~") ? "~" : nullptr;
      if (!operation) return left;
      left = make(Kind::binary, operation, std::move(left), product());
    }
  }
  Pointer product() {
    Pointer left = postfix(primary());
    while (take_symbol("%"))
      left = make(Kind::binary, "%", std::move(left), postfix(primary()));
    return left;
  }

  Pointer postfix(Pointer value) {
    while (true) {
      if (take_symbol(".")) {
        value = make(Kind::attribute, take_name(), std::move(value));
      } else if (take_symbol("[")) {
        value = subscript(std::move(value));
      } else if (take_symbol("(")) {
        value = make(Kind::call, "", std::move(value));
        arguments(*value);
      } else if (take_symbol("|")) {
        value = make(Kind::filter, take_name(), std::move(value));
        if (take_symbol("(")) arguments(*value);
      } else if (take_word("is")) {
        const bool is_negated = take_word("not");
        value = make(Kind::test, take_name(), std::move(value));
        if (is_negated) value = make(Kind::unary, "not", std::move(value));
      } else {
        return value;
      }
    }
  }

  Pointer subscript(Pointer value) {
    Pointer first = peek() == ':' ? nullptr : choice();
    if (take_symbol("]")) return make(Kind::item, "", std::move(value), std::move(first));
    Pointer slice = make(Kind::slice, "", std::move(value));
    add_operand(*slice, std::move(first));
    for (int i = 0; i < 2; ++i)
      add_operand(*slice, take_symbol(":") && peek() != ']' && peek() != ':' ? choice() : nullptr);
    expect("]");
    return slice;
  }

  void arguments(JinjaExpression& call) {
    while (!take_symbol(")")) {
      const std::size_t before = at_;
      skip_space();
      const std::string name = std::isalpha(static_cast<unsigned char>(peek())) ? take_name() : "";
      if (!name.empty() && peek() == '=' && source_.substr(at_, 2) != "==") {
        expect("=");
        call.named.emplace_back(name, choice());
        count_depth(call, call.named.back().second);
      } else {
        at_ = before;
        add_operand(call, choice());
      }
      if (!take_symbol(",") && peek() != ')') throw JinjaError("a call does not end");
    }
  }

  Pointer primary() {
    const char first = peek();
    if (first == '"' || first == '\'') return literal(take_text());
    if (std::isdigit(static_cast<unsigned char>(first))) return literal(take_number());
    if (take_symbol("-")) return literal(-take_number());
    if (take_symbol("(")) {
      Pointer inner = choice();
      expect(")");
      return inner;
    }
    if (take_symbol("[")) return list();
    const std::string name = take_name();
    if (name == "true" || name == "True") return literal(true);
    if (name == "false" || name == "False") return literal(false);
    if (name == "none" || name == "None") return literal(nullptr);
    return make(Kind::name, name);
  }

  Pointer list() {
    Pointer result = make(Kind::list);
    while (!take_symbol("]")) {
      add_operand(*result, choice());
      if (!take_symbol(",") && peek() != ']') throw JinjaError("a list does not end");
    }
    return result;
  }

  Pointer literal(nlohmann::json value) {
    Pointer expression = make(Kind::literal);
    expression->value = std::move(value);
    return expression;
  }

  std::string take_text() {
    const char quote = source_[at_++];
    std::string text;
    while (at_ < source_.size() && source_[at_] != quote) {
      if (source_[at_] != '\\') {
        text += source_[at_++];
        continue;
      }
      const char escaped = at_ + 1 < source_.size() ? source_[at_ + 1] : '\0';
      at_ += 2;
      switch (escaped) {
        case 'n':
          text += '\n';
          break;
        case 't':
          text += '\t';
          break;
        case 'r':
          text += '\r';
          break;
        case '\\':
        case '\'':
        case '"':
          text += escaped;
          break;
        default:
          throw JinjaError("an escape in a text is not supported");
      }
    }
    if (at_ >= source_.size()) throw JinjaError("a text does not end");
    ++at_;
    return text;
  }
  std::int64_t take_number() {
    skip_space();
    std::int64_t number = 0;
    std::size_t digits = 0;
    for (; at_ < source_.size() && std::isdigit(static_cast<unsigned char>(source_[at_])); ++at_, ++digits)
      number = number * 10 + (source_[at_] - '0');
    if (digits == 0 || digits > 9) throw JinjaError("a number is not supported");
    return number;
  }
  std::string take_name() {
    skip_space();
    const std::size_t begin = at_;
    while (at_ < source_.size() && is_name_character(source_[at_]))
      ++at_;
    if (begin == at_) throw JinjaError("a name is missing at " + std::string(source_.substr(at_, 20)));
    return std::string(source_.substr(begin, at_ - begin));
  }

  bool take_symbol(std::string_view symbol) {
    skip_space();
    if (!source_.substr(at_).starts_with(symbol)) return false;
    at_ += symbol.size();
    return true;
  }
  bool take_word(std::string_view word) {
    skip_space();
    const std::string_view rest = source_.substr(at_);
    if (!rest.starts_with(word) || (rest.size() > word.size() && is_name_character(rest[word.size()]))) return false;
    at_ += word.size();
    return true;
  }
  void expect(std::string_view symbol) {
    if (!take_symbol(symbol)) throw JinjaError(std::string(symbol) + " is missing");
  }
  char peek() {
    skip_space();
    return at_ < source_.size() ? source_[at_] : '\0';
  }
  void skip_space() {
    while (at_ < source_.size() && std::isspace(static_cast<unsigned char>(source_[at_])))
      ++at_;
  }

  static constexpr int kDeepest = 100;
  std::string_view source_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

JinjaExpression::Pointer parse_jinja_expression(std::string_view source) {
  return Parser(source).whole();
}

}  // namespace multicard
