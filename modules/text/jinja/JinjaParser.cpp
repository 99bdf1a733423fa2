// Parsing the statements of templates.

#include <algorithm>

#include "text/jinja/JinjaStream.hpp"

namespace multicard {

namespace {

using Node = JinjaNode;
using NodePointer = std::unique_ptr<JinjaNode>;
using Token = JinjaToken::Kind;
using Ends = std::initializer_list<std::string_view>;

NodePointer make(Node::Kind kind) {
  auto node = std::make_unique<Node>();
  node->kind = kind;
  return node;
}

class Parser {
 public:
  Parser(std::vector<JinjaToken> tokens, JinjaProgram& program)
      : stream_(std::move(tokens)), program_(program), expressions_(stream_, program) {}

  NodePointer whole() { return body({}); }

 private:
  /// Up to a statement that begins with one of `ends`, whose name has been taken; without any up to the end.
  NodePointer body(Ends ends) {
    constexpr int kDeepest = 100;
    if (++depth_ > kDeepest) stream_.fail("the template is nested too deeply");
    NodePointer sequence = make(Node::Kind::sequence);
    for (;;) {
      if (stream_.is(Token::data)) {
        NodePointer text = make(Node::Kind::text);
        text->text = stream_.take().text;
        sequence->children.push_back(std::move(text));
      } else if (stream_.is(Token::output_begin)) {
        stream_.take();
        NodePointer output = make(Node::Kind::output);
        output->expression = expressions_.tuple();
        stream_.expect(Token::output_end, "\"}}\"");
        sequence->children.push_back(std::move(output));
      } else if (stream_.is(Token::block_begin)) {
        stream_.take();
        const std::string name = stream_.name();
        end_ = name;
        if (std::find(ends.begin(), ends.end(), name) != ends.end()) break;
        sequence->children.push_back(statement(name));
      } else {
        if (ends.size() > 0) stream_.fail("a statement does not end");
        break;
      }
    }
    --depth_;
    return sequence;
  }

  NodePointer statement(const std::string& name) {
    if (name == "if") return choice();
    if (name == "for") return loop();
    if (name == "set") return set();
    if (name == "macro") return macro();
    if (name == "call") return call();
    if (name == "filter") return filter();
    if (name == "with") return with();
    if (name == "generation") {
      program_.has_generation = true;
      return block(make(Node::Kind::generation), "endgeneration");
    }
    if (name == "break" || name == "continue") {
      if (num_loops_ == 0) stream_.fail(name + " outside a loop");
      end_statement();
      return make(name == "break" ? Node::Kind::leave : Node::Kind::skip);
    }
    stream_.fail("the statement \"" + name.substr(0, 40) + "\" is not supported");
  }

  void end_statement() { stream_.expect(Token::block_end, "\"%}\""); }

  /// The rest of a statement, from the end of its tag or of its else on: a body, and what ends it.
  NodePointer block(NodePointer node, std::string_view end) {
    end_statement();
    node->children.push_back(body({end}));
    end_statement();
    return node;
  }

  // An elif is a choice in the else branch. It is parsed and rendered by recursion, so that their number is bounded.
  NodePointer choice() {
    NodePointer node = make(Node::Kind::choice);
    node->expression = expressions_.tuple(JinjaExpressionParser::Condition::none);
    end_statement();
    node->children.push_back(body({"elif", "else", "endif"}));
    if (end_ == "elif") {
      constexpr int kDeepest = 100;
      if (++depth_ > kDeepest) stream_.fail("a choice has too many branches");
      node->children.push_back(choice());  // which takes the endif
      --depth_;
      return node;
    }
    if (end_ == "else") return block(std::move(node), "endif");
    end_statement();
    return node;
  }

  Node::Target target() {
    Node::Target target;
    target.name = stream_.name();
    target.symbol = program_.symbols.number_of(target.name);
    return target;
  }

  /// Names with commas between them, perhaps in parentheses.
  std::vector<Node::Target> target_list() {
    const bool has_parentheses = stream_.take_symbol("(");
    std::vector<Node::Target> targets{target()};
    while (stream_.take_symbol(",") && stream_.is(Token::name) && !stream_.is_name("in"))
      targets.push_back(target());
    if (has_parentheses) stream_.expect_symbol(")");
    return targets;
  }

  NodePointer loop() {
    NodePointer node = make(Node::Kind::loop);
    node->targets = target_list();
    if (!stream_.take_name("in")) stream_.fail("\"in\" is missing");
    node->expression = expressions_.tuple(JinjaExpressionParser::Condition::none);
    if (stream_.take_name("if")) node->more.push_back(expressions_.expression());
    node->is_recursive = stream_.take_name("recursive");
    // The name needs a place also where the body does not use it: the rendering sets it for each pass.
    program_.symbols.number_of("loop");
    end_statement();
    ++num_loops_;
    node->children.push_back(body({"else", "endfor"}));
    --num_loops_;
    if (end_ == "else") return block(std::move(node), "endfor");
    end_statement();
    return node;
  }

  NodePointer set() {
    std::vector<Node::Target> targets = target_list();
    if (targets.size() == 1 && stream_.take_symbol(".")) targets[0].member = stream_.name();
    NodePointer node;
    if (stream_.take_symbol("=")) {
      node = make(Node::Kind::assignment);
      node->expression = expressions_.tuple();
      end_statement();
    } else {
      node = make(Node::Kind::block_assignment);
      node->expression = expressions_.filters(expressions_.reference(kBody));
      node = block(std::move(node), "endset");
    }
    node->targets = std::move(targets);
    return node;
  }

  /// Parameters in parentheses, with their defaults, which are appended to those of `node`.
  void parameters(Node& node) {
    stream_.expect_symbol("(");
    const std::size_t num_before = node.targets.size();
    while (!stream_.take_symbol(")")) {
      if (node.targets.size() > num_before) stream_.expect_symbol(",");
      node.targets.push_back(target());
      const bool has_default = stream_.take_symbol("=");
      if (!has_default && !node.more.empty() && node.more.back())
        stream_.fail("a parameter without a default follows one with a default");
      node.more.push_back(has_default ? expressions_.expression() : nullptr);
    }
  }

  NodePointer macro() {
    NodePointer node = make(Node::Kind::macro);
    node->targets.push_back(target());
    parameters(*node);
    return macro_body(std::move(node), "endmacro");
  }

  NodePointer call() {
    NodePointer node = make(Node::Kind::call_block);
    node->targets.push_back({program_.symbols.number_of("caller"), "caller", {}});
    if (stream_.is_symbol("(")) parameters(*node);
    node->expression = expressions_.expression();
    if (node->expression->kind != JinjaExpression::Kind::call) stream_.fail("a call is missing");
    return macro_body(std::move(node), "endcall");
  }

  NodePointer macro_body(NodePointer node, std::string_view end) {
    // A macro within a loop is no part of it: break and continue do not reach out of a macro.
    const int num_loops = std::exchange(num_loops_, 0);
    program_.symbols.number_of("caller");
    node = block(std::move(node), end);
    num_loops_ = num_loops;
    return node;
  }

  NodePointer filter() {
    NodePointer node = make(Node::Kind::filter_block);
    node->expression = expressions_.filters(expressions_.filter(expressions_.reference(kBody)));
    return block(std::move(node), "endfilter");
  }

  NodePointer with() {
    NodePointer node = make(Node::Kind::with);
    while (!stream_.is(Token::block_end)) {
      if (!node->targets.empty()) stream_.expect_symbol(",");
      node->targets.push_back(target());
      stream_.expect_symbol("=");
      node->more.push_back(expressions_.expression());
    }
    return block(std::move(node), "endwith");
  }

  JinjaStream stream_;
  JinjaProgram& program_;
  JinjaExpressionParser expressions_;
  std::string end_;  ///< the name of the statement at which the last body ended
  int depth_ = 0, num_loops_ = 0;
};

}  // namespace

std::size_t JinjaSymbols::number_of(const std::string& name) {
  const auto [place, is_new] = numbers_.try_emplace(name, names_.size());
  if (is_new) names_.push_back(&place->first);
  return place->second;
}

const std::size_t* JinjaSymbols::find(std::string_view name) const {
  const auto found = numbers_.find(name);
  return found == numbers_.end() ? nullptr : &found->second;
}

std::unique_ptr<JinjaProgram> parse_jinja(std::string_view source) {
  auto program = std::make_unique<JinjaProgram>();
  program->root = Parser(jinja_tokens(source), *program).whole();
  return program;
}

}  // namespace multicard
