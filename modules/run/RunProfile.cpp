#include "run/RunProfile.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Log.hpp"
#include "base/System.hpp"
#include "base/Text.hpp"

namespace multicard {

namespace {

/// What events of a part of a window may take while they are recorded. Making tables of them takes about eight times as
/// much. Of the first part of a window that is not known yet.
constexpr std::int64_t kPartBytes = std::int64_t{256} << 20, kFirstPartSteps = 20;

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
  if (!windows_) return;
  const std::int64_t length = options.skip_steps + options.steps;
  if (first_profiled_step(options, first_step, num_steps) < num_steps) {
    if (num_steps / length < options.repeat)
      log_warning(
          fmt::format("the run's {} steps are too few for {} of {} steps each after {}: the last one is shorter, or "
                      "missing. Lower profile.steps or profile.repeat.",
                      num_steps, counted(options.repeat, "profile window"), options.steps, options.skip_steps));
    return;
  }
  if (first_step == 0)
    log_warning(fmt::format(
        "no profile window lies in steps 0 to {} (the first begins after step {}). Lower profile.skip_steps.",
        num_steps - 1, options.skip_steps));
  else if (!has_profile(recorder_.history()))
    log_warning(
        fmt::format("no profile window lies in steps {} to {} (the run resumes after them). Raise profile.repeat, or "
                    "train from the start with run.resume=never.",
                    first_step, num_steps - 1));
}

template <class Change>
void RunProfile::between_steps(const Change& change) {
  const TimePoint start = SteadyClock::now();
  clock_.pause();
  change(setup_.shard_groups->totals());
  clock_.resume();
  recorder_.take_profile(windows_->tables(), seconds_since(start));
}

void RunProfile::limit_part(std::int64_t step) {
  const std::int64_t steps = step - part_first_;
  if (steps < part_steps_) return;
  const std::int64_t of_step = std::max<std::int64_t>(1, (resident_bytes() - opened_bytes_) / steps);
  close(step);
  std::int64_t most = 0;
  between_steps([&](const ProfileWindows::Totals&) {
    most = setup_.communicator.allreduce(std::max<std::int64_t>(1, kPartBytes / of_step), ReduceOp::min);
  });
  open(step);
  part_steps_ = most;
}

void RunProfile::move_to(std::int64_t step) {
  if (!windows_) return;
  if (is_open_ && windows_->is_first(step)) close(step);
  if (is_open_ && windows_->is_due(step)) return limit_part(step);
  if (windows_->is_due(step) == is_open_) return;
  if (is_open_)
    close(step);
  else
    open(step);
}

void RunProfile::open(std::int64_t step) {
  is_open_ = true;
  part_first_ = step;
  part_steps_ = kFirstPartSteps;
  opened_bytes_ = resident_bytes();
  between_steps([&](const ProfileWindows::Totals& totals) {
    if (setup_.options.profile.trace) trace_.emplace(setup_.communicator, setup_.options.run.output, step);
    windows_->open(step, totals);
  });
}

void RunProfile::close(std::int64_t step) {
  if (!is_open_) return;
  is_open_ = false;
  between_steps([&](const ProfileWindows::Totals& totals) {
    windows_->close(step, totals);
    if (trace_) trace_->write(windows_->take_timeline());
    trace_.reset();
  });
}

}  // namespace multicard
