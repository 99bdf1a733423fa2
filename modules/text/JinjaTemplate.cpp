// Parsing the statements of templates.

#include <cctype>
#include <optional>

#include "text/JinjaSyntax.hpp"

namespace multicard {

namespace {

using Node = JinjaNode;

/// A piece of a template: literal text, or what stands in {{ }} or {% %}.
struct Token {
  enum class Kind { text, output, statement, end } kind;
  std::string text;
};

std::string trimmed_space(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n"), end = text.find_last_not_of(" \t\r\n");
  return begin == std::string_view::npos ? "" : std::string(text.substr(begin, end - begin + 1));
}

/// Where a tag's closing mark begins; texts inside are passed over.
std::size_t end_of_tag(std::string_view source, std::size_t at, std::string_view mark) {
  char quote = '\0';
  for (; at < source.size(); ++at) {
    if (quote) {
      if (source[at] == '\\') {
        ++at;
      } else if (source[at] == quote) {
        quote = '\0';
      }
    } else if (source.substr(at).starts_with(mark)) {
      return at;
    } else if (mark != "#}" && (source[at] == '"' || source[at] == '\'')) {
      quote = source[at];
    }
  }
  throw JinjaError("a tag does not end");
}

/// Cuts a template into tokens and removes the white space that belongs to tags.
class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {
    if (source_.ends_with('\n')) source_.remove_suffix(1);
  }

  std::vector<Token> tokens() {
    while (at_ < source_.size()) {
      const std::size_t open = next_tag();
      text(source_.substr(at_, open - at_), open);
      at_ = open;
      if (open < source_.size()) tag(open);
    }
    return std::move(tokens_);
  }

 private:
  std::size_t next_tag() const {
    for (std::size_t at = at_; (at = source_.find('{', at)) != std::string_view::npos; ++at)
      if (at + 1 < source_.size() && (source_[at + 1] == '{' || source_[at + 1] == '%' || source_[at + 1] == '#'))
        return at;
    return source_.size();
  }

  void text(std::string_view part, std::size_t open) {
    if (strips_next_) part.remove_prefix(std::min(part.find_first_not_of(" \t\r\n"), part.size()));
    const bool is_tag = open + 2 < source_.size();
    if (is_tag && source_[open + 2] == '-') {
      part = part.substr(0, part.find_last_not_of(" \t\r\n") + 1);
    } else if (is_tag && source_[open + 1] != '{' && source_[open + 2] != '+') {
      const std::size_t end = part.find_last_not_of(" \t") + 1;  // npos + 1 is 0
      const bool begins_line = end == 0 ? at_line_begin_ : part[end - 1] == '\n';
      if (begins_line) part = part.substr(0, end);
    }
    if (!part.empty()) tokens_.push_back({Token::Kind::text, std::string(part)});
  }

  void tag(std::size_t open) {
    const char kind = source_[open + 1];
    const char* mark = kind == '{' ? "}}" : kind == '%' ? "%}" : "#}";
    const std::size_t begin = open + 2, close = end_of_tag(source_, begin, mark);
    std::string_view inside = source_.substr(begin, close - begin);
    if (inside.starts_with('-') || inside.starts_with('+')) inside.remove_prefix(1);
    strips_next_ = inside.ends_with('-');
    if (strips_next_) inside.remove_suffix(1);
    at_ = close + 2;
    at_line_begin_ = false;
    if (kind != '{' && !strips_next_ && at_ < source_.size() && source_[at_] == '\n') {
      ++at_;  // trim_blocks
      at_line_begin_ = true;
    }
    if (kind == '#') return;
    tokens_.push_back({kind == '{' ? Token::Kind::output : Token::Kind::statement, trimmed_space(inside)});
  }

  std::string_view source_;
  std::size_t at_ = 0;
  bool strips_next_ = false, at_line_begin_ = true;
  std::vector<Token> tokens_;
};

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) { tokens_.push_back({Token::Kind::end, ""}); }

  std::unique_ptr<Node> whole() {
    auto root = body();
    if (tokens_[at_].kind != Token::Kind::end) throw JinjaError("unexpected " + tokens_[at_].text);
    return root;
  }

 private:
  static std::unique_ptr<Node> make(Node::Kind kind, std::string text = {}) {
    auto node = std::make_unique<Node>();
    node->kind = kind;
    node->text = std::move(text);
    return node;
  }

  /// Up to a statement that belongs to an outer one.
  std::unique_ptr<Node> body() {
    if (++depth_ > kDeepest) throw JinjaError("the template is nested too deeply");
    auto sequence = make(Node::Kind::sequence);
    while (tokens_[at_].kind != Token::Kind::end) {
      const Token& token = tokens_[at_];
      if (token.kind == Token::Kind::text) {
        sequence->children.push_back(make(Node::Kind::text, token.text));
        ++at_;
      } else if (token.kind == Token::Kind::output) {
        sequence->children.push_back(make(Node::Kind::output));
        sequence->children.back()->expression = parse_jinja_expression(token.text);
        ++at_;
      } else if (auto node = statement()) {
        sequence->children.push_back(std::move(node));
      } else {
        break;
      }
    }
    --depth_;
    return sequence;
  }

  std::unique_ptr<Node> statement() {
    if (const auto condition = rest_of("if")) return choice(*condition);
    if (const auto loop = rest_of("for")) return for_loop(*loop);
    if (const auto assignment = rest_of("set")) return set(*assignment);
    const std::string& text = tokens_[at_].text;
    if (text == "generation" || text == "endgeneration") {  // marks what is to be learnt, and renders as nothing
      ++at_;
      return make(Node::Kind::sequence);
    }
    for (const char* word : {"elif", "else", "endif", "endfor"})
      if (rest_of(word)) return nullptr;
    throw JinjaError("the statement " + text.substr(0, 40) + " is not supported");
  }

  std::unique_ptr<Node> choice(const std::string& condition) {
    ++at_;
    auto node = make(Node::Kind::choice);
    node->expression = parse_jinja_expression(condition);
    node->children.push_back(body());
    if (const auto next = rest_of("elif")) {
      if (++depth_ > kDeepest) throw JinjaError("a choice has too many branches");
      node->children.push_back(choice(*next));
      --depth_;
      return node;  // the inner one took the endif
    }
    if (rest_of("else")) {
      ++at_;
      node->children.push_back(body());
    }
    expect("endif");
    return node;
  }

  std::unique_ptr<Node> for_loop(const std::string& text) {
    const std::size_t in = text.find(" in ");
    if (in == std::string::npos || text.find(',') < in) throw JinjaError("a loop is not supported");
    ++at_;
    auto node = make(Node::Kind::loop, trimmed_space(text.substr(0, in)));
    node->expression = parse_jinja_expression(text.substr(in + 4));
    node->children.push_back(body());
    expect("endfor");
    return node;
  }

  std::unique_ptr<Node> set(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) throw JinjaError("a set without a value is not supported");
    ++at_;
    auto node = make(Node::Kind::assignment, trimmed_space(text.substr(0, equals)));
    if (const std::size_t dot = node->text.find('.'); dot != std::string::npos) {
      node->member = node->text.substr(dot + 1);
      node->text.resize(dot);
    }
    node->expression = parse_jinja_expression(text.substr(equals + 1));
    return node;
  }

  /// What follows `word` in the statement at hand, if it begins with it.
  std::optional<std::string> rest_of(std::string_view word) const {
    const Token& token = tokens_[at_];
    if (token.kind != Token::Kind::statement || !token.text.starts_with(word)) return std::nullopt;
    if (token.text.size() > word.size() && std::isalnum(static_cast<unsigned char>(token.text[word.size()])))
      return std::nullopt;
    return token.text.substr(word.size());
  }
  void expect(const char* word) {
    if (!rest_of(word)) throw JinjaError(std::string(word) + " is missing");
    ++at_;
  }

  static constexpr int kDeepest = 100;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::unique_ptr<JinjaNode> parse_jinja_template(std::string_view source) {
  constexpr std::size_t kLongest = 256 << 10;
  if (source.size() > kLongest) throw JinjaError("the template is longer than 256 KiB");
  return Parser(Lexer(source).tokens()).whole();
}

}  // namespace multicard
