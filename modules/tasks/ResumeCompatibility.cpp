#include "tasks/ResumeCompatibility.hpp"

#include <fmt/format.h>

#include "base/Error.hpp"
#include "tasks/RunOptions.hpp"

namespace multicard {

void check_resume_compatibility(const Deck& before, const Deck& now) {
  for (const DeckKey& key : run_keys()) {
    if (!key.is_fixed()) continue;
    const std::string old_value = before.get_text(key.path), new_value = now.get_text(key.path);
    if (old_value != new_value)
      throw UsageError(fmt::format("{} has changed from {} to {}", key.path, old_value.empty() ? "nothing" : old_value,
                                   new_value.empty() ? "nothing" : new_value),
                       "the run in run.output began with the former and can only be resumed with it",
                       "Put it back, set another run.output, or run.resume=never to start over.");
  }
}

}  // namespace multicard
