#include "share/ShareProgressLine.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Log.hpp"
#include "base/Text.hpp"

namespace multicard {

namespace {
/// Seconds between two states of the live line.
constexpr double kShownS = 0.5;
}  // namespace

void ShareProgressLine::show(When when, const ShareScheduler& scheduler, double now, double left_s) {
  if (listener_) listener_(scheduler, now, left_s);
  if (!live_.is_wanted() || !scheduler.has_active()) return;
  const bool is_live = live_.is_live();
  if (!is_live && when == When::between) return;
  // A round changes who has which ranks, which a live line shows at once.
  const double pause = !is_live ? interval_s_ : when == When::round ? 0 : kShownS;
  if (shown_ && seconds_since(*shown_) < pause) return;
  shown_ = SteadyClock::now();
  const std::string text = progress_text(scheduler, left_s);
  if (is_live)
    live_.show(text);
  else
    log_info(fmt::format("{:>8.1f} s  {}", now, text));
}

std::string progress_text(const ShareScheduler& scheduler, double left_s) {
  std::string text;
  for (std::size_t i = 0; i < scheduler.num_tasks(); ++i) {
    const ScheduledTask& task = scheduler.task(i);
    if (!task.is_active()) continue;
    if (!text.empty()) text += " | ";
    text += fmt::format("{} {}", task.name(), counted(task.range().count, "rank"));
    if (task.has_ranks() && task.last_report().step_s > 0)
      text += fmt::format(", {:.3g} steps/s", 1 / task.last_report().step_s);
    if (const auto left = task.time_left(); left && task.has_ranks())
      text += fmt::format(", {} left", human_duration(*left));
  }
  return fmt::format("{}; next decision in {}", text, human_duration(std::max(0.0, left_s)));
}

}  // namespace multicard
