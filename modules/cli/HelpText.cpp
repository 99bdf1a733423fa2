#include "cli/HelpText.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "base/Utf8.hpp"

namespace multicard {

namespace {

/// "  name      text"; a name that reaches the text's column stands on a line of its own.
std::string row(const std::string& name, const std::string& text) {
  const std::string head = "  " + name;
  const std::size_t width = num_characters(head);
  if (text.empty()) return head + "\n";
  if (width + 2 > kHelpColumn) return head + "\n" + std::string(kHelpColumn, ' ') + text + "\n";
  return head + std::string(kHelpColumn - width, ' ') + text + "\n";
}

std::string rows(const std::string& title, const std::vector<OptionHelp>& options) {
  if (options.empty()) return {};
  std::string out = "\n" + title + ":\n";
  for (const OptionHelp& option : options)
    out += row(option.usage(), text_with_default(option));
  return out;
}

/// A command on lines that fit, which a shell joins: broken before options alone, never inside of quotes.
std::string example_lines(const std::string& example) {
  constexpr std::size_t kColumns = 76;
  const std::string between = " \\\n      ";
  std::string out, line;
  std::size_t at = 0;
  while (at < example.size()) {
    const std::size_t next = std::min(example.find(" -", at + 1), example.size());
    const std::string piece = example.substr(at, next - at);
    if (!line.empty() && line.size() + piece.size() > kColumns) {
      out += line.substr(out.empty() ? 0 : 4) + between;
      line = "    " + piece.substr(1);  // as wide as the indent
    } else {
      line += piece;
    }
    at = next;
  }
  return "  " + out + line.substr(out.empty() ? 0 : 4) + "\n";
}

}  // namespace

std::string text_with_default(const OptionHelp& option) {
  std::string text = option.text;
  // Words that are too many for the name of the value.
  if (!option.words.empty() && option.value.find('|') == std::string::npos && option.words.size() > 1)
    text += (text.empty() ? "" : ": ") + join(option.words, ", ");
  if (option.is_required && !option.names.empty()) text += " (required)";
  if (!option.fallback.empty() && text.find("default") == std::string::npos)
    text += fmt::format("; default {}", option.fallback);
  return text;
}

std::string sentence(const std::string& text) {
  return text.empty() || text.ends_with('.') ? text : text + ".";
}

std::string help_text(const CommandHelp& command) {
  std::string out = fmt::format("usage: {}\n\n{}\n", command.usage(), sentence(command.text));
  if (!command.commands.empty()) out += "\ncommands:\n";
  for (const CommandHelp& sub : command.commands)
    out += row(sub.name(), sub.text);
  out += rows("arguments", command.words) + rows("options", command.options);
  if (!command.examples.empty()) out += command.examples.size() == 1 ? "\nexample:\n" : "\nexamples:\n";
  for (const std::string& example : command.examples)
    out += example_lines(example);
  if (!command.note.empty()) out += "\n" + command.note + "\n";
  return out;
}

}  // namespace multicard
