#include "cli/WrongWords.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "cli/CommandTree.hpp"
#include "cli/Complaint.hpp"

namespace multicard {

namespace {

std::vector<std::string> names_of_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  return names;
}

std::vector<std::string> names_of_options(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames())
      names.push_back("--" + name);
  return names;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// "Did you mean NAME? multicard help run says more. Example: ..."
std::string advice_of(const std::string& meant, const CLI::App& app, const std::string& path) {
  return (meant.empty() ? meant : fmt::format("Did you mean {}? ", meant)) +
         help_and_example(help_of(path), described_at(app, path).examples, meant.starts_with("--") ? meant : "");
}

/// Values never begin with two dashes; CLI11 takes such a word for an option too.
void check_options(const CLI::App& app, const std::string& path, const std::vector<std::string>& words) {
  const std::vector<std::string> known = names_of_options(app);
  for (const std::string& word : words) {
    if (word == "--") return;  // what follows are values
    const std::string name = word.substr(0, word.find('='));
    if (!name.starts_with("--") || contains(known, name)) continue;
    throw UsageError(fmt::format("unknown option '{}' of {}", name, path), "",
                     advice_of(nearest(name, known).value_or(""), app, path));
  }
}

}  // namespace

std::string help_of(const std::string& path) {
  const std::size_t space = path.find(' ');
  return space == std::string::npos ? path + " help" : path.substr(0, space) + " help" + path.substr(space);
}

std::vector<std::string> without_help_word(const std::vector<std::string>& words) {
  if (words.empty() || words.front() != "help") return words;
  std::vector<std::string> turned(words.begin() + 1, words.end());
  turned.emplace_back("--help");
  return turned;
}

void check_words(const CLI::App& app, const std::vector<std::string>& words) {
  // Before CLI11 parses: it complains of what is left over at the end, and suggests nothing.
  const CLI::App* at = &app;
  std::string path = app.get_name();
  if (names_of_commands(app).empty()) return check_options(app, path, words);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with("-")) {
      if (words[i].starts_with("--")) check_options(*at, path, {words[i]});
      return;  // --help and --version, and what CLI11 has to say of the others
    }
    const std::vector<std::string> commands = names_of_commands(*at);
    if (!contains(commands, words[i])) {
      const std::optional<std::string> meant = nearest(words[i], commands);
      throw UsageError(fmt::format("unknown command '{} {}'", path, words[i]),
                       fmt::format("the commands are {}", join(commands, ", ")),
                       meant ? advice_of(path + " " + *meant, *at->get_subcommand(*meant), path + " " + *meant)
                             : fmt::format("{} says what each does.", help_of(path)));
    }
    at = at->get_subcommand(words[i]);
    path += " " + words[i];
    if (names_of_commands(*at).empty())
      return check_options(*at, path, {words.begin() + static_cast<long>(i) + 1, words.end()});
  }
  throw UsageError(fmt::format("'{}' needs a command", path),
                   fmt::format("the commands are {}", join(names_of_commands(*at), ", ")),
                   fmt::format("{} says what each does.", help_of(path)));
}

}  // namespace multicard
