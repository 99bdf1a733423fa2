#pragma once
/// \file What the parser of a command line knows of its commands, as plain values: what help, man pages and completion
/// are written from.

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace multicard {

/// An option, or a word without a name.
struct OptionHelp {
  std::vector<std::string> names;  ///< "-o", "--output"; none: it is known by its place
  std::string value;               ///< what stands for its value: "DECK", "N", "fp32|bf16"; empty: a flag
  std::vector<std::string> words;  ///< the values it takes; none: any
  std::string text;
  std::string fallback;  ///< the default; empty: none worth saying
  bool is_required = false;
  bool repeats = false;  ///< several values in a row
  bool is_value_optional = false;

  /// "-o,--output OUTPUT", "KEY=VALUE ..."
  std::string usage() const;
};

struct CommandHelp {
  std::string path;  ///< with its program: "multicard prepare images"
  std::string text;
  std::vector<std::string> examples;  ///< whole commands
  std::string note;                   ///< below all else; may be empty
  std::vector<OptionHelp> words, options;
  std::vector<CommandHelp> commands;

  /// "images" of "multicard prepare images"
  std::string name() const { return path.substr(path.rfind(' ') + 1); }
  /// "multicard run DECK [KEY=VALUE ...] [OPTIONS]"
  std::string usage() const;
};

OptionHelp described(const CLI::Option& option);

/// Of `app` and its commands. Lines of a footer that begin with "$ " are examples, the others a note.
/// \param before the path of what `app` is a command of; empty: it is a program
CommandHelp described(const CLI::App& app, const std::string& before = {});
/// The same of `app` whose own path is `path`, as "multicard prepare images".
CommandHelp described_at(const CLI::App& app, const std::string& path);

/// `command` and all below it.
std::vector<const CommandHelp*> all_commands(const CommandHelp& command);

/// "multicard prepare images"
std::string path_of(const CLI::App& app);

/// What the parser was in when it met a mistake: the innermost command that it has read.
const CLI::App& innermost_parsed(const CLI::App& app);

}  // namespace multicard
