#include "cli/Complaint.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "cli/CommandTree.hpp"
#include "cli/WrongWords.hpp"

namespace multicard {

namespace {

constexpr std::string_view kIsRequired = " is required";

/// As help names it: "DECK" for deck.
std::string shown_name(const CLI::App& app, const std::string& name) {
  const CLI::Option* option = app.get_option_no_throw(name);
  return option != nullptr && option->get_positional() ? described(*option).value : name;
}

/// The word of an option that was meant, where `what` ("--dtype: fp61 not in {...}") is about one.
std::string meant_word(const CommandHelp& command, const std::string& what) {
  const std::size_t colon = what.find(": ");
  if (colon == std::string::npos) return {};
  const std::string name = what.substr(0, colon), rest = what.substr(colon + 2);
  for (const OptionHelp& option : command.options) {
    if (std::find(option.names.begin(), option.names.end(), name) == option.names.end()) continue;
    if (const auto near = nearest(rest.substr(0, rest.find(' ')), option.words))
      return fmt::format("Did you mean {} {}? ", name, *near);
  }
  return {};
}

/// "--top-k: -1 is negative" as a sentence of this program.
std::string problem_of(const CLI::App& app, const CommandHelp& command, const CLI::ParseError& error) {
  std::string what = error.what();
  if (what.ends_with(kIsRequired)) {
    const std::string name = what.substr(0, what.size() - kIsRequired.size());
    return fmt::format("'{}' needs {}", command.path, shown_name(app, name));
  }
  for (const auto& [from, to] : {std::pair{"The following argument was not expected: ", "unexpected word "},
                                 {"The following arguments were not expected: ", "unexpected words "}})
    if (what.starts_with(from)) what = to + what.substr(std::string(from).size()) + " of " + command.path;
  return what;
}

}  // namespace

std::string help_and_example(const std::string& help, const std::vector<std::string>& examples,
                             const std::string& wanted) {
  if (examples.empty()) return help + " says more.";
  const auto has_it = [&](const std::string& example) { return example.find(wanted) != std::string::npos; };
  const auto found = std::find_if(examples.begin(), examples.end(), has_it);
  return fmt::format("{} says more. Example: {}", help, found == examples.end() ? examples.front() : *found);
}

UsageError usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& at = innermost_parsed(app);
  const std::string path = path_of(at);
  const CommandHelp command = described_at(at, path);
  const std::string name = std::string(error.what()).substr(0, std::string(error.what()).find_first_of(": "));
  return UsageError(problem_of(at, command, error), "",
                    meant_word(command, error.what()) +
                        help_and_example(help_of(path), command.examples, name.starts_with("--") ? name : ""));
}

}  // namespace multicard
