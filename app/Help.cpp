#include "Help.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "HelpFormats.hpp"
#include "HelpKeys.hpp"
#include "base/BuildInfo.hpp"
#include "base/Error.hpp"
#include "base/Terminal.hpp"
#include "base/Text.hpp"
#include "base/Utf8.hpp"
#include "cli/Completion.hpp"
#include "cli/HelpText.hpp"
#include "cli/ManPage.hpp"
#include "tasks/options/KeyCard.hpp"
#include "tasks/options/KeyHelp.hpp"

namespace multicard {

namespace {

constexpr std::size_t kCardIndent = 12;  ///< where the texts of a key begin

std::string in_lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::string plain(std::string text) {
  std::erase(text, '`');
  return text;
}

/// Rows of a name and what is said of it, the texts below each other.
class Found {
 public:
  explicit Found(const std::string& sought) : sought_(in_lower_case(sought)) {}

  /// Takes it where the name or one of the texts has what is sought. `text` is shown.
  void add(const std::string& name, const std::string& text, const std::string& more = {}) {
    if (in_lower_case(name + " " + text + " " + more).find(sought_) != std::string::npos)
      rows_.emplace_back(name, text);
  }

  std::string text(const std::string& title) const {
    if (rows_.empty()) return {};
    std::size_t width = 0;
    for (const auto& [name, text] : rows_)
      width = std::max(width, num_characters(name));
    std::string out = title + "\n";
    for (const auto& [name, text] : rows_)
      out += fmt::format("  {:<{}}  {}\n", name, width, text);
    return wrapped_help(out, width + 4);
  }

 private:
  std::string sought_;
  std::vector<std::pair<std::string, std::string>> rows_;
};

std::string help_on_search(const std::vector<std::string>& words, const CommandHelp& program) {
  const std::string sought = join({words.begin() + 2, words.end()}, " ");
  if (sought.empty())
    throw UsageError("'multicard help --search' needs a word", "", "Example: multicard help --search batch");
  Found commands(sought), options(sought), keys(sought);
  for (const CommandHelp* command : all_commands(program)) {
    if (command != &program) commands.add(command->path, command->text);
    for (const OptionHelp& option : command->options)
      if (option.names.back() != "--help" && option.names.back() != "--version")
        options.add(fmt::format("{} {}", command->path, option.names.back()), text_with_default(option));
  }
  for (const DescribedKey& one : describe_run_keys())
    keys.add(std::string(one.key.path), plain(std::string(one.key.help)),
             fmt::format("{} {}", one.key.label, plain(one.reading.type)));
  std::vector<std::string> parts{commands.text("commands"), options.text("options"), keys.text("keys of decks")};
  std::erase(parts, "");
  if (parts.empty())
    throw UsageError(fmt::format("no command, option or key of decks is about '{}'", sought), "",
                     "multicard help lists the commands, multicard help keys the keys.");
  return join(parts, "\n");
}

/// The keys that `name` means, or what is nearest to it.
std::string help_on_key(const std::string& name, const CommandHelp& program) {
  const std::vector<DescribedKey> found = keys_named(name);
  std::string out;
  constexpr std::size_t kFew = 3;
  if (found.size() > kFew) return wrapped_help(key_help(name + "."), kCardIndent);
  for (const DescribedKey& key : found)
    out += (out.empty() ? "" : "\n") + key_card(key);
  if (!found.empty()) return wrapped_help(out, kCardIndent);
  std::vector<std::string> names;
  for (const CommandHelp& command : program.commands)
    names.push_back(command.name());
  const std::vector<std::string> commands = names;
  for (const DescribedKey& one : describe_run_keys())
    names.emplace_back(one.key.path);
  const std::optional<std::string> meant = nearest(name, names);
  throw UsageError(fmt::format("no command or key of decks is called '{}'", name),
                   fmt::format("the commands are {}", join(commands, ", ")),
                   fmt::format("{}multicard help --search {} looks for it in all texts.",
                               meant ? fmt::format("Did you mean multicard help {}? ", *meant) : "", name));
}

std::string program_version() {
  return "multicard " + build_info().version;
}

/// The page of the keys of run decks.
ManPage page_of_keys() {
  ManPage page{"multicard-deck", 5, "keys of the run decks of multicard", {}, {"multicard(1)", "multicard-run(1)"}};
  page.sections.push_back({"description",
                           {"A deck is a YAML file of settings. Words KEY=VALUE of a command line replace its values. "
                            "multicard-run(1) reads it; multicard help KEY shows one key with an example."},
                           {},
                           {}});
  ManSection keys{"keys", {}, {}, {}};
  for (const auto& [key, reading] : describe_run_keys())
    keys.items.emplace_back(std::string(key.path), fmt::format("{}; default {}. {}.", plain(reading.type),
                                                               plain(reading.fallback), plain(std::string(key.help))));
  page.sections.push_back(keys);
  return page;
}

std::string help_as_pages(const std::vector<std::string>& words, const CommandHelp& program) {
  if (words.size() != 3)
    throw UsageError("'multicard help --man' needs a folder", "it writes the manual pages there",
                     "Example: multicard help --man share/man/man1");
  std::vector<ManPage> pages = man_pages(program, {"multicard-deck(5)", "multicard-post(1)"});
  pages.push_back(page_of_keys());
  write_pages(pages, program_version(), words[2]);
  return {};
}

std::string help_as_completion(const std::vector<std::string>& words, const CommandHelp& program) {
  const std::optional<Shell> shell = words.size() == 3 ? shell_named(words[2]) : std::nullopt;
  if (!shell)
    throw UsageError("'multicard help --completion' needs bash, zsh or fish", "",
                     "Example: multicard help --completion bash >~/.local/share/bash-completion/completions/multicard");
  std::vector<KeyCompletion> keys;
  for (const auto& [key, reading] : describe_run_keys())
    keys.push_back({std::string(key.path), words_of(reading), plain(std::string(key.help))});
  return completion_script(*shell, program, keys);
}

bool is_command(const CommandHelp& program, const std::string& name) {
  return std::any_of(program.commands.begin(), program.commands.end(),
                     [&](const CommandHelp& command) { return command.name() == name; });
}

}  // namespace

std::optional<std::string> help_on(const std::vector<std::string>& words, const CommandHelp& program) {
  if (asks_for_keys(words)) return help_on_keys(words);
  if (asks_for_formats(words)) return help_on_formats(words);
  if (words.size() < 2 || words[0] != "help") return std::nullopt;
  if (words[1] == "--search") return help_on_search(words, program);
  if (words[1] == "--man") return help_as_pages(words, program);
  if (words[1] == "--completion") return help_as_completion(words, program);
  if (words[1].starts_with("-") || is_command(program, words[1]) || words.size() > 2) return std::nullopt;
  return help_on_key(words[1], program);
}

}  // namespace multicard
