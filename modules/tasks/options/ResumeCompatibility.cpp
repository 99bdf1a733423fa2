#include "tasks/options/ResumeCompatibility.hpp"

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "tasks/options/RunOptions.hpp"

namespace multicard {

namespace {

/// Keys that are younger than runs that may be resumed, and what those runs did.
constexpr std::pair<std::string_view, const char*> kBeforeTheKey[] = {{"parallel.powersgd_rank", "0"},
                                                                      {"parallel.powersgd_start_step", "0"}};

/// Empty where it is not set. An empty list or map sets as little as a deck without the key.
std::string setting_of(const Deck& deck, std::string_view path) {
  const std::string text = deck.get_text(path);
  if (text.empty())
    for (const auto& [key, value] : kBeforeTheKey)
      if (key == path) return value;
  return text == "[]" || text == "{}" ? "" : text;
}

std::string shown(const std::string& setting) {
  return setting.empty() ? "nothing" : setting;
}

}  // namespace

void check_resume_compatibility(const Deck& before, const Deck& now) {
  for (const DeckKey& key : run_keys()) {
    if (!key.is_fixed()) continue;
    const std::string old_value = setting_of(before, key.path), new_value = setting_of(now, key.path);
    if (old_value != new_value)
      throw UsageError(fmt::format("{} has changed from {} to {}", key.path, shown(old_value), shown(new_value)),
                       "run.output holds a run with other settings",
                       "Put it back, set another run.output, or run.resume=never to start over.");
  }
}

}  // namespace multicard
