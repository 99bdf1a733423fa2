#pragma once
/// \file What standard error leads to: a terminal, on which a line may rewrite itself, or something that keeps lines.

#include <cstddef>
#include <optional>
#include <string>

namespace multicard {

/// How progress is shown; `automatic` decides by what standard error leads to.
enum class ProgressMode { automatic, live, plain, off };

/// The mode that MULTICARD_PROGRESS (auto | live | plain | off) names. \throws UsageError for another word
ProgressMode progress_mode();

/// The terminal that standard error of this process ends in. mpirun gives its ranks a pipe for standard error and
/// copies what comes out of it to its own; so in a rank whose standard error is that pipe, mpirun's is looked at.
/// (Standard output says nothing: mpirun gives each rank a terminal of its own there, wherever its own output goes.)
class Terminal {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  bool is_there() const { return is_there_; }

  /// Whether it can rewrite a line: not under TERM=dumb, nor where mpirun labels lines (--tag-output,
  /// --timestamp-output).
  bool can_rewrite() const { return can_rewrite_; }

  /// Its width now, as people resize windows; else COLUMNS; none where neither is known.
  std::optional<std::size_t> columns() const;

 private:
  int descriptor_ = -1;  ///< of the terminal; -1: none
  bool is_own_ = false;  ///< descriptor_ is to be closed
  bool is_there_ = false, can_rewrite_ = false;
};

/// `text` as lines of at most `columns` characters, broken at spaces but not between a number and its unit, those
/// after the first indented by `indent`; a word that is longer than a line stays whole. Characters are counted, not
/// bytes.
std::string wrapped(const std::string& text, std::size_t columns, std::size_t indent);

/// The help of a command line with its lines wrapped to the terminal, but not under 80 columns; lines that begin with
/// spaces continue at `indent`.
std::string wrapped_help(const std::string& text, std::size_t indent);

/// Width of the terminal that standard error ends in (see Terminal); none where it is something else.
std::optional<std::size_t> error_columns();

/// Width of the terminal that standard output is; none where it is something else.
std::optional<std::size_t> output_columns();

}  // namespace multicard
