#include "HelpKeys.hpp"

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Terminal.hpp"
#include "tasks/KeyHelp.hpp"

namespace multicard {

namespace {

constexpr std::size_t kIndent = 4;

std::string marked_tables() {
  std::string out;
  for (const auto& [section, table] : key_tables())
    out += fmt::format("<!-- keys of {} -->\n{}<!-- end of keys -->\n", section, table);
  return out;
}

}  // namespace

bool asks_for_keys(const std::vector<std::string>& words) {
  return words.size() >= 2 && words[0] == "help" && words[1] == "keys";
}

std::string help_on_keys(const std::vector<std::string>& words) {
  const std::string about = words.size() > 2 ? words[2] : "";
  if (about == "--markdown" && words.size() == 3) return marked_tables();
  if (words.size() > 3 || about.starts_with("-"))
    throw UsageError("'multicard help keys' takes one word, or --markdown", "",
                     "multicard help keys shows all keys, multicard help keys batch those about batches.");
  const std::string help = key_help(about);
  if (help.empty())
    throw UsageError(fmt::format("no key of decks is about '{}'", about), "", "multicard help keys shows all of them.");
  return wrapped_help(help, kIndent);
}

}  // namespace multicard
