// Parsing the operands of expressions with what follows them: members, calls, filters and tests.

#include <algorithm>
#include <array>
#include <charconv>

#include "text/jinja/JinjaExpressionNodes.hpp"
#include "text/jinja/JinjaStream.hpp"

namespace multicard {

namespace {

using Pointer = JinjaExpression::Pointer;
using Kind = JinjaExpression::Kind;
using Token = JinjaToken::Kind;

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

}  // namespace

// Names, attributes and literals are collected as the template's words: whether it "uses" tools or reasoning at all is
// decided by them, without a rendering (JinjaTemplate::mentions).
Pointer JinjaExpressionParser::reference(const std::string& name) {
  Pointer expression = make_expression(Kind::name);
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
    return make_literal(std::move(text));
  }
  if (stream_.is(Token::integer) || stream_.is(Token::real)) return make_literal(number(stream_.take()));
  if (stream_.take_symbol("(")) {
    if (stream_.take_symbol(")")) return make_expression(Kind::tuple);
    Pointer inner = tuple();
    stream_.expect_symbol(")");
    return inner;
  }
  if (stream_.take_symbol("[")) return list();
  if (stream_.take_symbol("{")) return dict();
  if (!stream_.is(Token::name)) stream_.fail("unexpected \"" + stream_.peek().text + "\"");
  const std::string name = stream_.name();
  if (name == "true" || name == "True") return make_literal(true);
  if (name == "false" || name == "False") return make_literal(false);
  if (name == "none" || name == "None") return make_literal(JinjaNone());
  return reference(name);
}

Pointer JinjaExpressionParser::list() {
  Pointer result = make_expression(Kind::list);
  while (!stream_.take_symbol("]")) {
    if (!result->operands.empty()) stream_.expect_symbol(",");
    if (stream_.take_symbol("]")) break;
    add_operand(*result, expression());
  }
  return result;
}

Pointer JinjaExpressionParser::dict() {
  Pointer result = make_expression(Kind::dict);
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
      // Jinja's own: x.0 is x[0].
      if (stream_.is(Token::integer)) {
        value = make_expression(Kind::item, std::move(value), make_literal(number(stream_.take())));
      } else {
        value = make_expression(Kind::attribute, std::move(value));
        value->name = stream_.name();
        program_.words.insert(value->name);
      }
    } else if (stream_.take_symbol("[")) {
      value = subscript(std::move(value));
    } else if (stream_.is_symbol("(")) {
      value = make_expression(Kind::call, std::move(value));
      arguments(*value);
    } else {
      return value;
    }
  }
}

// x[1, 2] has a tuple for its key, as in Python. Bounds that are left out stay null: what they mean depends on the sign
// of the step.
Pointer JinjaExpressionParser::subscript(Pointer value) {
  const auto is_bound = [&] { return !stream_.is_symbol(":") && !stream_.is_symbol("]"); };
  Pointer first = is_bound() ? tuple() : nullptr;
  if (first && stream_.take_symbol("]")) return make_expression(Kind::item, std::move(value), std::move(first));
  Pointer slice = make_expression(Kind::slice, std::move(value));
  add_operand(*slice, std::move(first));
  for (int i = 0; i < 2; ++i)
    add_operand(*slice, stream_.take_symbol(":") && is_bound() ? expression() : nullptr);
  stream_.expect_symbol("]");
  return slice;
}

/// Any number of filters, tests and calls in a row.
Pointer JinjaExpressionParser::filters_and_tests(Pointer value) {
  for (;;) {
    if (stream_.is_symbol("|")) {
      value = filters(std::move(value));
    } else if (stream_.take_name("is")) {
      value = test(std::move(value));
    } else if (stream_.is_symbol("(")) {  // what a filter has returned is called
      value = make_expression(Kind::call, std::move(value));
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

// An unknown filter or test is an error only where it is reached: published templates have branches for images and
// sounds that no conversation here takes.
Pointer JinjaExpressionParser::filter(Pointer value) {
  Pointer result = make_expression(Kind::filter, std::move(value));
  result->name = stream_.name();
  result->filter = find_jinja_filter(result->name);
  if (stream_.is_symbol("(")) arguments(*result);
  return result;
}

// "is divisibleby 3" needs no parentheses. The argument is one operand with its postfixes: "x is eq y or z" ends before
// "or". Words that may follow a test are no arguments.
Pointer JinjaExpressionParser::test(Pointer value) {
  constexpr std::array<std::string_view, 3> kConnectives{"else", "or", "and"};
  const bool is_negated = stream_.take_name("not");
  Pointer result = make_expression(Kind::test, std::move(value));
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
  return is_negated ? make_expression(Kind::unary, JinjaOperator::negate, std::move(result)) : std::move(result);
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
      stream_.fail("a positional argument follows a keyword argument");
    } else {
      add_operand(call, expression());
    }
  }
}

}  // namespace multicard
