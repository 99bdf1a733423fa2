// Parsing the expressions of templates, in the order of precedence of Jinja's own parser.

#include <algorithm>
#include <array>
#include <charconv>

#include "text/JinjaStream.hpp"

namespace multicard {

namespace {

using Pointer = JinjaExpression::Pointer;
using Kind = JinjaExpression::Kind;
using Token = JinjaToken::Kind;
using Operators = std::initializer_list<std::pair<std::string_view, JinjaOperator>>;

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

Pointer make(Kind kind, Pointer first = nullptr, Pointer second = nullptr) {
  auto expression = std::make_unique<JinjaExpression>();
  expression->kind = kind;
  if (first) add_operand(*expression, std::move(first));
  if (second) add_operand(*expression, std::move(second));
  return expression;
}

Pointer make(Kind kind, JinjaOperator operation, Pointer first, Pointer second = nullptr) {
  Pointer expression = make(kind, std::move(first), std::move(second));
  expression->operators.push_back(operation);
  return expression;
}

Pointer literal(JinjaValue value) {
  Pointer expression = make(Kind::literal);
  expression->value = std::move(value);
  return expression;
}

const JinjaOperator* operator_in(const JinjaStream& stream, const Operators& operators) {
  for (const auto& [text, operation] : operators)
    if (stream.is_symbol(text)) return &operation;
  return nullptr;
}

JinjaValue number(const JinjaToken& token) {
  const char *begin = token.text.data(), *end = begin + token.text.size();
  if (token.kind == Token::real) {
    double value = 0;
    std::from_chars(begin, end, value);
    return value;
  }
  std::int64_t value = 0;
  if (std::from_chars(begin, end, value).ec != std::errc())
    throw JinjaError("the number " + token.text + " is too large");
  return value;
}

/// Bounds the recursion of a parser.
class Nesting {
 public:
  explicit Nesting(int& depth) : depth_(depth) {
    constexpr int kDeepest = 100;
    if (++depth_ > kDeepest) throw JinjaError("an expression is nested too deeply");
  }
  ~Nesting() { --depth_; }

 private:
  int& depth_;
};

}  // namespace

Pointer JinjaExpressionParser::tuple(Condition condition) {
  const auto next = [&] { return condition == Condition::allowed ? expression() : either(); };
  const auto ends = [&] {
    return stream_.is(Token::output_end) || stream_.is(Token::block_end) || stream_.is_symbol(")") ||
           stream_.is_name("in") || stream_.is_symbol("=");
  };
  Pointer first = next();
  if (!stream_.is_symbol(",")) return first;
  Pointer all = make(Kind::tuple, std::move(first));
  while (stream_.take_symbol(",") && !ends())
    add_operand(*all, next());
  return all;
}

Pointer JinjaExpressionParser::expression() {
  const Nesting nesting(depth_);
  Pointer value = either();
  while (stream_.take_name("if")) {
    Pointer condition = either();
    Pointer choice = make(Kind::choice, std::move(condition), std::move(value));
    add_operand(*choice, stream_.take_name("else") ? expression() : nullptr);
    value = std::move(choice);
  }
  return value;
}

Pointer JinjaExpressionParser::either() {
  Pointer left = both();
  while (stream_.take_name("or"))
    left = make(Kind::binary, JinjaOperator::either, std::move(left), both());
  return left;
}

Pointer JinjaExpressionParser::both() {
  Pointer left = negation();
  while (stream_.take_name("and"))
    left = make(Kind::binary, JinjaOperator::both, std::move(left), negation());
  return left;
}

Pointer JinjaExpressionParser::negation() {
  int times = 0;
  while (stream_.take_name("not"))
    ++times;
  Pointer value = comparison();
  for (int i = 0; times > 0 && i < 2 - times % 2; ++i)  // "not not not" is "not"
    value = make(Kind::unary, JinjaOperator::negate, std::move(value));
  return value;
}

Pointer JinjaExpressionParser::comparison() {
  static const Operators kOperators{{"==", JinjaOperator::equal},  {"!=", JinjaOperator::unequal},
                                    {"<", JinjaOperator::less},    {"<=", JinjaOperator::less_equal},
                                    {">", JinjaOperator::greater}, {">=", JinjaOperator::greater_equal}};
  Pointer first = sum(), chain;
  for (;;) {
    JinjaOperator operation;
    if (const JinjaOperator* found = operator_in(stream_, kOperators)) {
      operation = *found;
      stream_.take();
    } else if (stream_.take_name("in")) {
      operation = JinjaOperator::in;
    } else if (stream_.is_name("not") && stream_.is_name("in", 1)) {
      stream_.take();
      stream_.take();
      operation = JinjaOperator::not_in;
    } else {
      return chain ? std::move(chain) : std::move(first);
    }
    if (!chain) chain = make(Kind::compare, std::move(first));
    chain->operators.push_back(operation);
    add_operand(*chain, sum());
    count_depth(*chain, chain->operands.front());
    if (chain->operators.size() > 100) stream_.fail("a chain of comparisons is too long");
  }
}

Pointer JinjaExpressionParser::sum() {
  static const Operators kOperators{{"+", JinjaOperator::add}, {"-", JinjaOperator::subtract}};
  Pointer left = concatenation();
  while (const JinjaOperator* operation = operator_in(stream_, kOperators)) {
    stream_.take();
    left = make(Kind::binary, *operation, std::move(left), concatenation());
  }
  return left;
}

Pointer JinjaExpressionParser::concatenation() {
  Pointer left = product();
  while (stream_.take_symbol("~"))
    left = make(Kind::binary, JinjaOperator::concatenate, std::move(left), product());
  return left;
}

Pointer JinjaExpressionParser::product() {
  static const Operators kOperators{{"*", JinjaOperator::multiply},
                                    {"/", JinjaOperator::divide},
                                    {"//", JinjaOperator::floor_divide},
                                    {"%", JinjaOperator::modulo}};
  Pointer left = power();
  while (const JinjaOperator* operation = operator_in(stream_, kOperators)) {
    stream_.take();
    left = make(Kind::binary, *operation, std::move(left), power());
  }
  return left;
}

Pointer JinjaExpressionParser::power() {
  Pointer left = unary(true);
  while (stream_.take_symbol("**"))
    left = make(Kind::binary, JinjaOperator::power, std::move(left), unary(true));
  return left;
}

Pointer JinjaExpressionParser::unary(bool with_filters) {
  const Nesting nesting(depth_);
  Pointer value;
  if (stream_.take_symbol("-")) {
    value = make(Kind::unary, JinjaOperator::minus, unary(false));
  } else if (stream_.take_symbol("+")) {
    value = make(Kind::unary, JinjaOperator::plus, unary(false));
  } else {
    value = primary();
  }
  value = postfix(std::move(value));
  return with_filters ? filters_and_tests(std::move(value)) : std::move(value);
}

Pointer JinjaExpressionParser::reference(const std::string& name) {
  Pointer expression = make(Kind::name);
  expression->name = name;
  expression->symbol = program_.symbols.number_of(name);
  program_.words.insert(name);
  return expression;
}

Pointer JinjaExpressionParser::primary() {
  if (stream_.is(Token::string)) {
    std::string text;
    while (stream_.is(Token::string))
      text += stream_.take().text;
    program_.words.insert(text);
    return literal(std::move(text));
  }
  if (stream_.is(Token::integer) || stream_.is(Token::real)) return literal(number(stream_.take()));
  if (stream_.take_symbol("(")) {
    if (stream_.take_symbol(")")) return make(Kind::tuple);
    Pointer inner = tuple();
    stream_.expect_symbol(")");
    return inner;
  }
  if (stream_.take_symbol("[")) return list();
  if (stream_.take_symbol("{")) return dict();
  if (!stream_.is(Token::name)) stream_.fail("unexpected \"" + stream_.peek().text + "\"");
  const std::string name = stream_.name();
  if (name == "true" || name == "True") return literal(true);
  if (name == "false" || name == "False") return literal(false);
  if (name == "none" || name == "None") return literal(JinjaNone());
  return reference(name);
}

Pointer JinjaExpressionParser::list() {
  Pointer result = make(Kind::list);
  while (!stream_.take_symbol("]")) {
    if (!result->operands.empty()) stream_.expect_symbol(",");
    if (stream_.take_symbol("]")) break;
    add_operand(*result, expression());
  }
  return result;
}

Pointer JinjaExpressionParser::dict() {
  Pointer result = make(Kind::dict);
  while (!stream_.take_symbol("}")) {
    if (!result->operands.empty()) stream_.expect_symbol(",");
    if (stream_.take_symbol("}")) break;
    add_operand(*result, expression());
    stream_.expect_symbol(":");
    add_operand(*result, expression());
  }
  return result;
}

Pointer JinjaExpressionParser::postfix(Pointer value) {
  for (;;) {
    if (stream_.take_symbol(".")) {
      if (stream_.is(Token::integer)) {
        value = make(Kind::item, std::move(value), literal(number(stream_.take())));
      } else {
        value = make(Kind::attribute, std::move(value));
        value->name = stream_.name();
        program_.words.insert(value->name);
      }
    } else if (stream_.take_symbol("[")) {
      value = subscript(std::move(value));
    } else if (stream_.is_symbol("(")) {
      value = make(Kind::call, std::move(value));
      arguments(*value);
    } else {
      return value;
    }
  }
}

Pointer JinjaExpressionParser::subscript(Pointer value) {
  const auto is_bound = [&] { return !stream_.is_symbol(":") && !stream_.is_symbol("]"); };
  Pointer first = is_bound() ? tuple() : nullptr;
  if (first && stream_.take_symbol("]")) return make(Kind::item, std::move(value), std::move(first));
  Pointer slice = make(Kind::slice, std::move(value));
  add_operand(*slice, std::move(first));
  for (int i = 0; i < 2; ++i)
    add_operand(*slice, stream_.take_symbol(":") && is_bound() ? expression() : nullptr);
  stream_.expect_symbol("]");
  return slice;
}

/// As far as filters and tests are written behind one another.
Pointer JinjaExpressionParser::filters_and_tests(Pointer value) {
  for (;;) {
    if (stream_.is_symbol("|")) {
      value = filters(std::move(value));
    } else if (stream_.take_name("is")) {
      value = test(std::move(value));
    } else if (stream_.is_symbol("(")) {  // what a filter has returned is called
      value = make(Kind::call, std::move(value));
      arguments(*value);
    } else {
      return value;
    }
  }
}

Pointer JinjaExpressionParser::filters(Pointer value) {
  while (stream_.take_symbol("|"))
    value = filter(std::move(value));
  return value;
}

Pointer JinjaExpressionParser::filter(Pointer value) {
  Pointer result = make(Kind::filter, std::move(value));
  result->name = stream_.name();
  result->filter = find_jinja_filter(result->name);
  if (stream_.is_symbol("(")) arguments(*result);
  return result;
}

Pointer JinjaExpressionParser::test(Pointer value) {
  constexpr std::array<std::string_view, 3> kConnectives{"else", "or", "and"};
  const bool is_negated = stream_.take_name("not");
  Pointer result = make(Kind::test, std::move(value));
  result->name = stream_.name();
  result->test = find_jinja_test(result->name);
  const JinjaToken& next = stream_.peek();
  const bool is_connective = std::find(kConnectives.begin(), kConnectives.end(), next.text) != kConnectives.end();
  if (stream_.is_symbol("(")) {
    arguments(*result);
  } else if ((stream_.is(Token::name) && !is_connective) || stream_.is(Token::string) || stream_.is(Token::integer) ||
             stream_.is(Token::real) || stream_.is_symbol("[") || stream_.is_symbol("{")) {
    if (stream_.is_name("is")) stream_.fail("tests cannot be chained");
    add_operand(*result, postfix(primary()));
  }
  return is_negated ? make(Kind::unary, JinjaOperator::negate, std::move(result)) : std::move(result);
}

void JinjaExpressionParser::arguments(JinjaExpression& call) {
  stream_.expect_symbol("(");
  for (bool is_first = true; !stream_.take_symbol(")"); is_first = false) {
    if (!is_first) stream_.expect_symbol(",");
    if (stream_.take_symbol(")")) break;
    if (stream_.is_symbol("*") || stream_.is_symbol("**")) stream_.fail("unpacked arguments are not supported");
    const bool is_named =
        stream_.is(Token::name) && stream_.peek(1).kind == Token::symbol && stream_.peek(1).text == "=";
    if (is_named) {
      std::string name = stream_.name();
      stream_.take();
      call.named.emplace_back(std::move(name), expression());
      count_depth(call, call.named.back().second);
    } else if (!call.named.empty()) {
      stream_.fail("an argument stands behind named ones");
    } else {
      add_operand(call, expression());
    }
  }
}

}  // namespace multicard
