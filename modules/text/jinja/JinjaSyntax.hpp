#pragma once
/// \file The syntax trees of templates and their expressions.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/Jinja.hpp"
#include "text/jinja/JinjaCallable.hpp"

namespace multicard {

enum class JinjaOperator {
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  modulo,
  power,
  concatenate,
  both,    ///< and
  either,  ///< or
  negate,  ///< not
  minus,
  plus,
  equal,
  unequal,
  less,
  less_equal,
  greater,
  greater_equal,
  in,
  not_in
};

struct JinjaExpression {
  enum class Kind {
    literal,
    list,
    tuple,
    dict,  ///< operands: key, value, key, value
    name,
    attribute,
    item,
    slice,
    call,
    filter,
    test,
    unary,
    binary,
    compare,  ///< a chain: operators[i] stands between operands i and i + 1
    choice    ///< operands: condition, then, else
  };
  using Pointer = std::unique_ptr<JinjaExpression>;

  Kind kind;
  std::string name = {};                                    ///< of a name, attribute, filter or test
  std::size_t symbol = 0;                                   ///< of a name
  JinjaValue value = {};                                    ///< of a literal
  std::vector<Pointer> operands = {};                       ///< null: what is left out of a slice or a choice
  std::vector<std::pair<std::string, Pointer>> named = {};  ///< keyword arguments of a call
  std::vector<JinjaOperator> operators = {};                ///< one, but for a chain of comparisons
  JinjaFunction filter = nullptr;                           ///< null: unknown
  JinjaPredicate test = nullptr;
  int depth = 1;  ///< of the tree from here, bounded: trees are recursed into
};

struct JinjaNode {
  enum class Kind {
    sequence,
    text,
    output,
    choice,  ///< children: then, else
    loop,    ///< children: body, else; `more`: the condition, if any
    assignment,
    block_assignment,  ///< children: body; `expression`: filters of the name kBody, if any
    macro,             ///< targets: itself, then its parameters; more: their defaults (null: none)
    call_block,        ///< children: body; `targets` and `more`: parameters of the body as of a macro
    filter_block,      ///< children: body
    with,              ///< targets and more: what is set in the body
    generation,
    leave,  ///< break
    skip    ///< continue
  };
  struct Target {
    std::size_t symbol = 0;
    std::string name = {};
    std::string member = {};  ///< of a namespace
  };

  Kind kind;
  std::string text = {};
  bool is_recursive = false;  ///< of a loop
  std::vector<Target> targets = {};
  JinjaExpression::Pointer expression = {};
  std::vector<JinjaExpression::Pointer> more = {};
  std::vector<std::unique_ptr<JinjaNode>> children = {};
};

/// The name by which the filters of a block refer to its text; no template can write it.
inline constexpr const char* kBody = " body";

/// Names get numbers, which are the places of their values.
class JinjaSymbols {
 public:
  std::size_t number_of(const std::string& name);
  /// The names in the order of their numbers; the strings stay where they are.
  const std::vector<const std::string*>& names() const { return names_; }
  const std::size_t* find(std::string_view name) const;

 private:
  std::map<std::string, std::size_t, std::less<>> numbers_;
  std::vector<const std::string*> names_;
};

struct JinjaProgram {
  std::unique_ptr<JinjaNode> root;
  JinjaSymbols symbols;
  std::set<std::string, std::less<>> words;  ///< names, attributes and string literals
  bool has_generation = false;
  TemplateDate date;
};

std::unique_ptr<JinjaProgram> parse_jinja(std::string_view source);

}  // namespace multicard
