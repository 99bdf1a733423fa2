#include "run/RunProfile.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Log.hpp"

namespace multicard {

namespace {

bool has_profile(const History& history) {
  return std::ranges::any_of(history.rows,
                             [](const auto& row) { return row.second.tables.contains("profile/window"); });
}

}  // namespace

RunProfile::RunProfile(const TrainingSetup& setup, StepClock& clock, RunRecorder& recorder)
    : setup_(setup), clock_(clock), recorder_(recorder) {
  const ProfileOptions& options = setup.options.profile;
  if (!options.enabled) return;
  windows_ = std::make_unique<ProfileWindows>(options, setup.device().device);
  clock_.observe(windows_->observer());
}

void RunProfile::check(std::int64_t first_step, std::int64_t num_steps) const {
  const ProfileOptions& options = setup_.options.profile;
  if (!windows_ || first_profiled_step(options, first_step, num_steps) < num_steps) return;
  if (first_step == 0)
    log_warning(fmt::format(
        "no profile window lies in steps 0 to {} (the first begins after step {}). Lower profile.skip_steps.",
        num_steps, options.skip_steps));
  else if (!has_profile(recorder_.history()))
    log_warning(
        fmt::format("no profile window lies in steps {} to {} (the run resumes after them). Raise profile.repeat, or "
                    "train from the start with run.resume=never.",
                    first_step, num_steps));
}

template <class Change>
void RunProfile::change(const Change& change) {
  const TimePoint start = SteadyClock::now();
  clock_.pause();
  change(setup_.collectives->totals());
  clock_.resume();
  recorder_.take_profile(windows_->tables(), seconds_since(start));
}

void RunProfile::move_to(std::int64_t step) {
  if (!windows_ || !windows_->changes_before(step)) return;
  change([&](const ProfileWindows::Totals& totals) { windows_->change_before(step, totals); });
}

void RunProfile::close(std::int64_t step) {
  if (!windows_ || !windows_->is_open()) return;
  change([&](const ProfileWindows::Totals& totals) { windows_->close(step, totals); });
}

}  // namespace multicard
