// Parsing the operators of expressions, in the order of precedence of Jinja's own parser.

#include "text/jinja/JinjaExpressionNodes.hpp"
#include "text/jinja/JinjaStream.hpp"

namespace multicard {

namespace {

using Pointer = JinjaExpression::Pointer;
using Kind = JinjaExpression::Kind;
using Token = JinjaToken::Kind;
using Operators = std::initializer_list<std::pair<std::string_view, JinjaOperator>>;

const JinjaOperator* operator_in(const JinjaStream& stream, const Operators& operators) {
  for (const auto& [text, operation] : operators)
    if (stream.is_symbol(text)) return &operation;
  return nullptr;
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
  Pointer all = make_expression(Kind::tuple, std::move(first));
  while (stream_.take_symbol(",") && !ends())
    add_operand(*all, next());
  return all;
}

// A choice without else is undefined where its condition is false, and undefined writes nothing.
Pointer JinjaExpressionParser::expression() {
  const Nesting nesting(depth_);
  Pointer value = either();
  while (stream_.take_name("if")) {
    Pointer condition = either();
    Pointer choice = make_expression(Kind::choice, std::move(condition), std::move(value));
    add_operand(*choice, stream_.take_name("else") ? expression() : nullptr);
    value = std::move(choice);
  }
  return value;
}

Pointer JinjaExpressionParser::either() {
  Pointer left = both();
  while (stream_.take_name("or"))
    left = make_expression(Kind::binary, JinjaOperator::either, std::move(left), both());
  return left;
}

Pointer JinjaExpressionParser::both() {
  Pointer left = negation();
  while (stream_.take_name("and"))
    left = make_expression(Kind::binary, JinjaOperator::both, std::move(left), negation());
  return left;
}

// Counted, not recursed into. Two are not none: "not not x" is a boolean.
Pointer JinjaExpressionParser::negation() {
  int times = 0;
  while (stream_.take_name("not"))
    ++times;
  Pointer value = comparison();
  for (int i = 0; times > 0 && i < 2 - times % 2; ++i)  // "not not not" is "not"
    value = make_expression(Kind::unary, JinjaOperator::negate, std::move(value));
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
    if (!chain) chain = make_expression(Kind::compare, std::move(first));
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
    left = make_expression(Kind::binary, *operation, std::move(left), concatenation());
  }
  return left;
}

// The order of Jinja's grammar, not of Python's: ~ binds more tightly than + and -, and less than * and /.
Pointer JinjaExpressionParser::concatenation() {
  Pointer left = product();
  while (stream_.take_symbol("~"))
    left = make_expression(Kind::binary, JinjaOperator::concatenate, std::move(left), product());
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
    left = make_expression(Kind::binary, *operation, std::move(left), power());
  }
  return left;
}

// Jinja's power associates to the left and takes signs with its base, both unlike Python: 2 ** 3 ** 2 is 64 and -2 ** 2
// is 4.
Pointer JinjaExpressionParser::power() {
  Pointer left = unary(true);
  while (stream_.take_symbol("**"))
    left = make_expression(Kind::binary, JinjaOperator::power, std::move(left), unary(true));
  return left;
}

// Filters bind more tightly than any operator but the sign: a ~ b | trim trims b, and -1 | abs is 1. Of several signs
// the outermost takes the filters.
Pointer JinjaExpressionParser::unary(bool takes_filters) {
  const Nesting nesting(depth_);
  Pointer value;
  if (stream_.take_symbol("-")) {
    value = make_expression(Kind::unary, JinjaOperator::minus, unary(false));
  } else if (stream_.take_symbol("+")) {
    value = make_expression(Kind::unary, JinjaOperator::plus, unary(false));
  } else {
    value = primary();
  }
  value = postfix(std::move(value));
  return takes_filters ? filters_and_tests(std::move(value)) : std::move(value);
}

}  // namespace multicard
