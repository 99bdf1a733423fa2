#include "cli/CommandTree.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/Text.hpp"

namespace multicard {

namespace {

/// A name that has capitals already is one for people.
std::string in_capitals(std::string text) {
  if (std::any_of(text.begin(), text.end(), [](unsigned char c) { return std::isupper(c); })) return text;
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return c == '-' ? '_' : std::toupper(c); });
  return text;
}

/// CLI11 appends the words that an option takes to the name of its type, as "TEXT:{runs,cells}".
std::vector<std::string> words_in(const std::string& type) {
  const std::size_t begin = type.find('{'), end = type.rfind('}');
  if (begin == std::string::npos || end == std::string::npos || end <= begin + 1) return {};
  return split(type.substr(begin + 1, end - begin - 1), ',');
}

std::string name_for_value(const CLI::Option& option, const std::string& type, const std::vector<std::string>& words) {
  constexpr std::size_t kLongest = 60;
  std::string name = type.substr(0, type.find(':'));
  if (!words.empty() && join(words, "|").size() <= kLongest) return join(words, "|");
  if (name == "INT" || name == "UINT") return "N";
  if (name == "FLOAT") return "X";
  if (name != "TEXT" && !name.empty()) return name;
  return in_capitals(option.get_positional() || option.get_lnames().empty() ? option.get_single_name()
                                                                            : option.get_lnames().front());
}

}  // namespace

std::string OptionHelp::usage() const {
  const std::string more = repeats ? " ..." : "";
  if (names.empty()) return value + more;
  if (value.empty()) return join(names, ",");
  if (is_value_optional) return fmt::format("{}[={}]", join(names, ","), value);
  return fmt::format("{} {}{}", join(names, ","), value, more);
}

std::string CommandHelp::usage() const {
  std::string line = path;
  if (!commands.empty()) line += words.empty() ? " COMMAND" : " [COMMAND]";
  for (const OptionHelp& word : words)
    line += word.is_required ? " " + word.usage() : fmt::format(" [{}]", word.usage());
  for (const OptionHelp& option : options)
    if (option.is_required) line += " " + option.names.back() + " " + option.value;
  return line + " [OPTIONS]";
}

OptionHelp described(const CLI::Option& option) {
  OptionHelp help;
  for (const std::string& name : option.get_snames())
    help.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames())
    help.names.push_back("--" + name);
  const std::string type = option.get_type_name();
  help.words = words_in(type);
  const bool is_flag = option.get_items_expected_max() == 0 || option.get_expected_min() == 0;
  help.is_value_optional = is_flag && !help.words.empty();
  if (!is_flag || help.is_value_optional) help.value = name_for_value(option, type, help.words);
  help.text = option.get_description();
  help.fallback = option.get_default_str();
  help.is_required = option.get_required();
  constexpr int kFew = 2;
  help.repeats = !is_flag && option.get_items_expected_max() >= kFew;
  return help;
}

CommandHelp described(const CLI::App& app, const std::string& before) {
  CommandHelp command;
  command.path = before.empty() ? app.get_name() : before + " " + app.get_name();
  command.text = app.get_description();
  std::vector<std::string> note;
  for (const std::string& line : split(app.get_footer(), '\n'))
    if (line.starts_with("$ "))
      command.examples.push_back(line.substr(2));
    else if (!line.empty())
      note.push_back(line);
  command.note = join(note, "\n");
  for (const CLI::Option* option : app.get_options())
    (option->nonpositional() ? command.options : command.words).push_back(described(*option));
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    command.commands.push_back(described(*sub, command.path));
  return command;
}

CommandHelp described_at(const CLI::App& app, const std::string& path) {
  // A parser of its own has the whole path for a name.
  const std::size_t space = app.get_name() == path ? std::string::npos : path.rfind(' ');
  return described(app, space == std::string::npos ? "" : path.substr(0, space));
}

std::vector<const CommandHelp*> all_commands(const CommandHelp& command) {
  std::vector<const CommandHelp*> all{&command};
  for (const CommandHelp& sub : command.commands)
    for (const CommandHelp* one : all_commands(sub))
      all.push_back(one);
  return all;
}

std::string path_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : path_of(*app.get_parent()) + " " + app.get_name();
}

const CLI::App& innermost_parsed(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty())
    at = at->get_subcommands().back();
  return *at;
}

}  // namespace multicard
