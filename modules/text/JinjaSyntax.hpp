#pragma once
/// \file The syntax trees of templates and their expressions.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "text/Jinja.hpp"

namespace multicard {

struct JinjaExpression {
  enum class Kind { literal, list, name, attribute, item, slice, call, filter, test, unary, binary, choice };
  using Pointer = std::unique_ptr<JinjaExpression>;

  Kind kind;
  std::string name = {};                                    ///< of a name, attribute, filter, test or operator
  nlohmann::json value = nullptr;                           ///< of a literal
  std::vector<Pointer> operands = {};                       ///< null: a bound of a slice that is left out
  std::vector<std::pair<std::string, Pointer>> named = {};  ///< keyword arguments of a call
  int depth = 1;                                            ///< of the tree from here, bounded: trees are recursed into
};

struct JinjaNode {
  enum class Kind { sequence, text, output, choice, loop, assignment };

  Kind kind;
  std::string text = {};    ///< literal text; the variable of a loop; the variable of an assignment
  std::string member = {};  ///< assignment to text.member
  JinjaExpression::Pointer expression = {};
  std::vector<std::unique_ptr<JinjaNode>> children = {};  ///< of a choice: then, else
};

/// The expression that `source` consists of.
JinjaExpression::Pointer parse_jinja_expression(std::string_view source);

/// The statements of a template.
std::unique_ptr<JinjaNode> parse_jinja_template(std::string_view source);

}  // namespace multicard
