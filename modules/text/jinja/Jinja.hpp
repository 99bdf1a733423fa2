#pragma once
/// \file Jinja as chat templates use it.

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/JinjaValue.hpp"
#include "text/jinja/TemplateDate.hpp"
#include "text/unicode/TextRange.hpp"

namespace multicard {

/// The template is wrong, raises an exception itself, needs what is not supported, or needs too much of something.
struct JinjaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct JinjaProgram;

/// Which shorter texts are wanted beside a whole one: those with only the first items of a list.
struct JinjaGrowth {
  struct End {
    std::size_t length;  ///< items of the list, at least one
    bool flag;           ///< what `flag` is then
  };
  std::string_view list, flag;   ///< variables, a list and a boolean
  std::vector<End> wanted = {};  ///< by ascending length
};

/// A shorter text: what the whole one begins with, and the rest.
struct JinjaBeginning {
  std::size_t shared = 0;
  std::optional<std::string> rest = {};  ///< nothing where the template objects
};

struct JinjaOutput {
  std::string text;
  std::vector<TextRange> generated = {};  ///< what stood in {% generation %} blocks
  bool has_hidden_generation = false;     ///< there was such a block in a macro or the like, where it has no place
  /// For each that is wanted; nothing where only another rendering can tell.
  std::vector<std::optional<JinjaBeginning>> beginnings = {};
};

/// About the steps that renderings take together.
struct JinjaWork {
  std::size_t most = SIZE_MAX;  ///< for the shorter texts of a rendering, which ends with a JinjaError beyond it
  std::size_t done = 0;
};

/// A parsed template. It renders as the ImmutableSandboxedEnvironment of transformers does (trim_blocks, lstrip_blocks,
/// loop controls, generation blocks, tojson, raise_exception, strftime_now), except that strftime_now always gives the
/// same date. Any thread.
class JinjaTemplate {
 public:
  /// \param date what strftime_now formats, at midnight
  /// \throws JinjaError
  explicit JinjaTemplate(std::string_view source, const TemplateDate& date = {});
  ~JinjaTemplate();
  JinjaTemplate(const JinjaTemplate&) = delete;
  JinjaTemplate& operator=(const JinjaTemplate&) = delete;

  using Variables = std::vector<std::pair<std::string_view, JinjaValue>>;
  /// Ends after a bounded number of steps and of bytes in values, both in proportion to the variables' size, if need be
  /// with a JinjaError.
  JinjaOutput render(const Variables& variables) const {
    JinjaWork work;
    return render(variables, {}, work);
  }
  /// The same with shorter texts, in time in proportion to the lengths of the text and of their rests. They are found
  /// where the template walks through the list in a loop that stands in nothing else, and has seen nothing before the
  /// last item that is wanted that would be otherwise.
  /// \param work is added to, after an error too
  JinjaOutput render(const Variables& variables, const JinjaGrowth& growth, JinjaWork& work) const;

  /// Whether the template has this name, attribute or string literal.
  bool mentions(std::string_view word) const;
  /// Whether it has {% generation %} blocks.
  bool has_generation() const;

 private:
  std::unique_ptr<const JinjaProgram> program_;
};

}  // namespace multicard
