#pragma once
/// \file One rendering of a template.

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/JinjaLimits.hpp"
#include "text/jinja/JinjaScopes.hpp"
#include "text/jinja/JinjaSyntax.hpp"

namespace multicard {

class JinjaRuntime {
 public:
  /// \param work the steps that were taken are added to it in the end
  JinjaRuntime(const JinjaProgram& program, const JinjaTemplate::Variables& variables, std::size_t& work);
  ~JinjaRuntime() { work_ += limits_.work(); }
  JinjaRuntime(const JinjaRuntime&) = delete;
  JinjaRuntime& operator=(const JinjaRuntime&) = delete;

  JinjaOutput run();

  /// \name For filters, tests and functions
  /// @{
  /// Counts memory that values take and time in proportion to it. \throws JinjaError when it is too much
  void spend(std::size_t bytes) { limits_.spend(bytes); }
  /// The same for what a value holds itself.
  void spend_on(const JinjaValue& value);
  std::string text_of(const JinjaValue& value);
  bool equal(const JinjaValue& a, const JinjaValue& b);
  /// value.name: a method, else a member
  JinjaValue attribute(const JinjaValue& value, const std::string& name);
  /// value[key]: a member, else a method
  JinjaValue item(const JinjaValue& value, const JinjaValue& key);
  /// What a loop over the value walks through.
  std::shared_ptr<const JinjaList> items_of(const JinjaValue& value);
  bool contains(const JinjaValue& whole, const JinjaValue& part);
  /// The length as Python's len() gives it.
  std::int64_t length_of(const JinjaValue& value);
  const TemplateDate& date() const { return program_.date; }
  JinjaNamespace* make_namespace() { return &namespaces_.emplace_back(); }
  /// @}

 private:
  using Expression = JinjaExpression;
  using Node = JinjaNode;
  enum class Flow { normal, skip, leave };  ///< of a statement: whether the loop around it continues

  void put(std::string_view text);

  // Statements (JinjaRuntime.cpp)
  Flow render(const Node& node);
  Flow render_children(const Node& node);
  Flow render_loop(const Node& node);
  Flow render_items(const Node& node, const std::shared_ptr<const JinjaList>& items, std::size_t num_around);
  Flow render_item(const Node& node, const JinjaLoop& loop);
  std::shared_ptr<const JinjaList> chosen_items(const Node& node, const JinjaValue& value);
  void bind(const std::vector<Node::Target>& targets, const JinjaValue& value);
  void assign(const Node::Target& target, JinjaValue value);
  template <class Body>
  std::string captured(Body&& body);
  Flow render_filtered(const Node& node);
  void render_call_block(const Node& node);
  Flow render_with(const Node& node);
  Flow render_generation(const Node& node);

  // Expressions (JinjaEvaluate.cpp, JinjaCalls.cpp, JinjaOperators.cpp)
  JinjaValue value_of(const Expression& expression);
  JinjaValue computed(const Expression& expression);
  JinjaValue loop_attribute(const JinjaLoop& loop, const std::string& name) const;
  JinjaValue test(const Expression& expression);
  JinjaValue list_of(const Expression& expression, JinjaList::Kind kind);
  JinjaValue dict_of(const Expression& expression);
  JinjaValue slice(const Expression& expression);
  JinjaArguments arguments_of(const Expression& expression);
  JinjaValue call(const Expression& expression);
  JinjaValue call(const JinjaCallable& callable, const JinjaArguments& arguments);
  JinjaValue call_loop(const JinjaLoop& loop, const JinjaArguments& arguments);
  JinjaValue call_macro(const JinjaCallable& callable, const JinjaArguments& arguments);
  JinjaValue unary(const Expression& expression);
  JinjaValue binary(const Expression& expression);
  JinjaValue comparison(const Expression& expression);
  bool compare(JinjaOperator operation, const JinjaValue& left, const JinjaValue& right);
  JinjaValue joined(JinjaValue left, const JinjaValue& right);

  const JinjaProgram& program_;
  JinjaScopes scopes_;
  std::deque<JinjaNamespace> namespaces_;
  std::deque<JinjaLoop> loops_;
  const std::size_t *loop_symbol_, *caller_symbol_, *body_symbol_;  ///< null: no statement sets it

  JinjaOutput output_;
  int num_captures_ = 0;  ///< around what is written now: it does not go to the text directly
  JinjaLimits limits_;
  std::size_t& work_;
};

/// What a body writes.
template <class Body>
std::string JinjaRuntime::captured(Body&& body) {
  std::string outer = std::exchange(output_.text, {});
  ++num_captures_;
  scopes_.open();
  body();
  scopes_.close();
  --num_captures_;
  std::string text = std::exchange(output_.text, std::move(outer));
  spend(text.size());
  return text;
}

/// a operation b of numbers.
JinjaValue jinja_arithmetic(JinjaOperator operation, const JinjaValue& a, const JinjaValue& b);

/// text % values
std::string jinja_percent_format(JinjaRuntime& runtime, std::string_view text, const JinjaValue& values);

}  // namespace multicard
