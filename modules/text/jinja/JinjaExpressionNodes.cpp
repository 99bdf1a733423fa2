#include "text/jinja/JinjaExpressionNodes.hpp"

#include <algorithm>

namespace multicard {

namespace {

using Pointer = JinjaExpression::Pointer;
using Kind = JinjaExpression::Kind;

}  // namespace

// The parser builds a + a + a in a loop, without recursion, and yet its evaluation and its destructor recurse once for
// each link: the tree's depth is bounded apart from the parser's.
void count_depth(JinjaExpression& parent, const Pointer& child) {
  constexpr int kDeepest = 500;
  if (child) parent.depth = std::max(parent.depth, child->depth + 1);
  if (parent.depth > kDeepest) throw JinjaError("an expression has too many links");
}

void add_operand(JinjaExpression& parent, Pointer operand) {
  count_depth(parent, operand);
  parent.operands.push_back(std::move(operand));
}

Pointer make_expression(Kind kind, Pointer first, Pointer second) {
  auto expression = std::make_unique<JinjaExpression>();
  expression->kind = kind;
  if (first) add_operand(*expression, std::move(first));
  if (second) add_operand(*expression, std::move(second));
  return expression;
}

Pointer make_expression(Kind kind, JinjaOperator operation, Pointer first, Pointer second) {
  Pointer expression = make_expression(kind, std::move(first), std::move(second));
  expression->operators.push_back(operation);
  return expression;
}

Pointer make_literal(JinjaValue value) {
  Pointer expression = make_expression(Kind::literal);
  expression->value = std::move(value);
  return expression;
}

}  // namespace multicard
