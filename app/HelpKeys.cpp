#include "HelpKeys.hpp"

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Terminal.hpp"
#include "base/Text.hpp"
#include "tasks/options/KeyHelp.hpp"

namespace multicard {

namespace {

constexpr std::size_t kIndent = 4;
constexpr const char* kUsage =
    "multicard help keys shows all keys of decks, multicard help keys batch those about batches, --markdown all as "
    "tables.\n";

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
  const std::string about = join({words.begin() + 2, words.end()}, " ");
  if (about == "--markdown") return marked_tables();
  if (about == "--help" || about == "-h") return kUsage;
  if (about.starts_with("-"))
    throw UsageError(fmt::format("unknown option '{}' of multicard help keys", about), "", kUsage);
  // From the table that readers of decks use (DeckKey), so that help cannot differ from what is read.
  const std::string help = key_help(about);
  if (help.empty())
    throw UsageError(fmt::format("no key of decks is about '{}'", about), "", "multicard help keys shows all of them.");
  return wrapped_help(help, kIndent);
}

}  // namespace multicard
