#pragma once
/// \file gnuplot as a child process.

#include <string>

namespace multicard::post {

/// Runs scripts without a shell: the script goes to standard input, and what it plots comes back from standard
/// output, so that scripts contain no file names.
class Gnuplot {
 public:
  /// \param program name to look up in PATH, or a path
  explicit Gnuplot(std::string program = "gnuplot");

  /// Whether the program can be started.
  bool available() const { return available_; }

  /// What `script` prints to standard output. Throws EnvironmentError with gnuplot's own message when it fails.
  std::string run(const std::string& script) const;

 private:
  std::string program_;
  bool available_ = false;
};

/// `text` as a gnuplot string in single quotes, in which gnuplot expands nothing; line breaks become blanks.
std::string quoted(const std::string& text);

}  // namespace multicard::post
