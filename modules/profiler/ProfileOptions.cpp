#include "profiler/ProfileOptions.hpp"

#include "config/DeckLimits.hpp"

namespace multicard {

ProfileOptions read_profile_options(Section& profile) {
  ProfileOptions options;
  options.enabled = profile.get("enabled", options.enabled);
  options.skip_steps = profile.get_in_range<std::int64_t>("skip_steps", options.skip_steps, 0, most::kSteps);
  options.steps = profile.get_in_range<std::int64_t>("steps", options.steps, 1, most::kSteps);
  options.repeat = profile.get_in_range<std::int64_t>("repeat", options.repeat, 1, most::kSteps);
  options.shapes = profile.get("shapes", options.shapes);
  options.memory = profile.get("memory", options.memory);
  options.trace = profile.get("trace", options.trace);
  if (options.trace && !options.enabled)
    profile.reject("trace", "profile.trace is true without profile.enabled",
                   "it is the time line of the windows that profile.enabled opens", "Set profile.enabled too.");
  return options;
}

DeckKeys profile_keys() {
  using enum KeyTasks;
  using enum KeyEffect;
  return {
      {"profile.skip_steps", any, bookkeeping, "skip steps",
       "first steps that the statistics of step times leave out; the window of a profile begins after them"},
      {"profile.enabled", any, bookkeeping, "profile", "profile `profile.steps` steps"},
      {"profile.steps", any, bookkeeping, "profile steps", "steps of a profile's window"},
      {"profile.repeat", any, bookkeeping, "profile windows",
       "windows of a profile, with `profile.skip_steps` steps between one and the next"},
      {"profile.shapes", any, bookkeeping, "profile shapes", "distinguish operators by the shapes of their inputs"},
      {"profile.memory", any, bookkeeping, "profile memory", "record what operators allocate"},
      {"profile.trace", any, bookkeeping, "trace",
       "write a time line of all ranks for each window of a profile, for Perfetto"},
  };
}

}  // namespace multicard
