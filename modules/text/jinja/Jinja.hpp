#pragma once
/// \file Jinja as chat templates use it.

#include <memory>
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

struct JinjaOutput {
  /// What one pass of a loop over an item has written.
  struct Pass {
    const JinjaDict* item;  ///< to be compared with those of the variables only: one that the template made is gone
    TextRange range;
  };

  std::string text;
  std::vector<TextRange> generated = {};  ///< what stood in {% generation %} blocks
  bool has_hidden_generation = false;     ///< there was such a block in a macro or the like, where it has no place
  std::vector<Pass> passes = {};          ///< over dicts, those that wrote something into `text` directly
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
  /// \param work about the steps that were taken are added to it, after an error too
  JinjaOutput render(const Variables& variables, std::size_t& work) const;
  JinjaOutput render(const Variables& variables) const {
    std::size_t unused = 0;
    return render(variables, unused);
  }

  /// Whether the template has this name, attribute or string literal.
  bool mentions(std::string_view word) const;
  /// Whether it has {% generation %} blocks.
  bool has_generation() const;

 private:
  std::unique_ptr<const JinjaProgram> program_;
};

}  // namespace multicard
