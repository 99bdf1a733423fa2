#pragma once
/// \file The nodes of parsed expressions, whose depth is bounded.

#include "text/jinja/JinjaSyntax.hpp"

namespace multicard {

/// To be called for each new child: a chain like a.a.a or a + a + a is as deep as it is long. \throws JinjaError when
/// the expression becomes too deep
void count_depth(JinjaExpression& parent, const JinjaExpression::Pointer& child);
void add_operand(JinjaExpression& parent, JinjaExpression::Pointer operand);

/// Operands that are null are left out.
JinjaExpression::Pointer make_expression(JinjaExpression::Kind kind, JinjaExpression::Pointer first = nullptr,
                                         JinjaExpression::Pointer second = nullptr);
JinjaExpression::Pointer make_expression(JinjaExpression::Kind kind, JinjaOperator operation,
                                         JinjaExpression::Pointer first, JinjaExpression::Pointer second = nullptr);
JinjaExpression::Pointer make_literal(JinjaValue value);

}  // namespace multicard
