#include "tasks/ResumeCompatibility.hpp"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "tasks/RunOptions.hpp"

namespace multicard {

namespace {

/// Of a key, to compare and to show. An empty list or map sets as little as a deck without the key.
std::string setting_of(const Deck& deck, std::string_view path) {
  const std::string text = deck.get_text(path);
  return text.empty() || text == "[]" || text == "{}" ? "nothing" : text;
}

}  // namespace

void check_resume_compatibility(const Deck& before, const Deck& now) {
  for (const DeckKey& key : run_keys()) {
    if (!key.is_fixed()) continue;
    const std::string old_value = setting_of(before, key.path), new_value = setting_of(now, key.path);
    if (old_value != new_value)
      throw UsageError(fmt::format("{} has changed from {} to {}", key.path, old_value, new_value),
                       "the run in run.output began with the former and can only be resumed with it",
                       "Put it back, set another run.output, or run.resume=never to start over.");
  }
}

}  // namespace multicard
