#pragma once
/// \file The parsers' way through the tokens of a template.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/JinjaLexer.hpp"
#include "text/jinja/JinjaSyntax.hpp"

namespace multicard {

class JinjaStream {
 public:
  explicit JinjaStream(std::vector<JinjaToken> tokens) : tokens_(std::move(tokens)) {}

  const JinjaToken& peek(std::size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  JinjaToken take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool is(JinjaToken::Kind kind) const { return peek().kind == kind; }
  bool is_symbol(std::string_view text) const { return is(JinjaToken::Kind::symbol) && peek().text == text; }
  bool is_name(std::string_view text, std::size_t ahead = 0) const {
    return peek(ahead).kind == JinjaToken::Kind::name && peek(ahead).text == text;
  }
  bool take_symbol(std::string_view text) { return is_symbol(text) && (take(), true); }
  bool take_name(std::string_view text) { return is_name(text) && (take(), true); }
  void expect_symbol(std::string_view text) {
    if (!take_symbol(text)) fail("\"" + std::string(text) + "\" is missing");
  }
  void expect(JinjaToken::Kind kind, const char* what) {
    if (!is(kind)) fail(std::string(what) + " is missing");
    take();
  }
  std::string name() {
    if (!is(JinjaToken::Kind::name)) fail("a name is missing");
    return take().text;
  }
  [[noreturn]] void fail(const std::string& problem) const {
    throw JinjaError(problem + " in line " + std::to_string(peek().line) + " of the template");
  }

 private:
  std::vector<JinjaToken> tokens_;
  std::size_t at_ = 0;
};

/// Parses expressions; all names become symbols of the program.
class JinjaExpressionParser {
 public:
  JinjaExpressionParser(JinjaStream& stream, JinjaProgram& program) : stream_(stream), program_(program) {}

  enum class Condition { allowed, none };
  /// An expression, or a tuple without parentheses. `condition`: whether it may be an inline if.
  JinjaExpression::Pointer tuple(Condition condition = Condition::allowed);
  JinjaExpression::Pointer expression();
  /// The filters that follow `value`.
  JinjaExpression::Pointer filters(JinjaExpression::Pointer value);
  /// A filter with its arguments, without "|".
  JinjaExpression::Pointer filter(JinjaExpression::Pointer value);
  /// A name as the symbol of what it refers to.
  JinjaExpression::Pointer reference(const std::string& name);

 private:
  using Pointer = JinjaExpression::Pointer;

  Pointer either();
  Pointer both();
  Pointer negation();
  Pointer comparison();
  Pointer sum();
  Pointer concatenation();
  Pointer product();
  Pointer power();
  Pointer unary(bool takes_filters);
  Pointer primary();
  Pointer postfix(Pointer value);
  Pointer subscript(Pointer value);
  Pointer filters_and_tests(Pointer value);
  Pointer test(Pointer value);
  Pointer list();
  Pointer dict();
  void arguments(JinjaExpression& call);

  JinjaStream& stream_;
  JinjaProgram& program_;
  int depth_ = 0;
};

}  // namespace multicard
