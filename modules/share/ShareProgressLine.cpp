#include "share/ShareProgressLine.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/Log.hpp"
#include "base/Text.hpp"
#include "base/Utf8.hpp"

namespace multicard {

namespace {
/// Seconds between two states of the live line.
constexpr double kShownS = 0.5;

/// What is said of a task.
enum class Detail { ranks, time_left, all };

std::string task_text(const ScheduledTask& task, Detail detail) {
  std::string text = detail == Detail::ranks
                         ? fmt::format("{} {}", task.name(), task.rank_set().count())
                         : fmt::format("{} {}", task.name(), counted(task.rank_set().count(), "rank"));
  if (detail == Detail::ranks || !task.has_ranks()) return text;
  if (detail == Detail::all && task.last_report().step_s > 0)
    text += fmt::format(", {:.3g} steps/s", 1 / task.last_report().step_s);
  if (detail == Detail::all && std::isfinite(task.last_report().loss))
    text += fmt::format(", loss {:.4g}", task.last_report().loss);
  if (const auto left = task.time_left()) text += fmt::format(", {} left", human_duration(*left));
  return text;
}

std::string first_characters(const std::string& text, std::size_t count) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < count && end < text.size(); ++i)
    next_character(text, end);
  return text.substr(0, end);
}

std::string tasks_text(const ShareScheduler& scheduler, Detail detail) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < scheduler.num_tasks(); ++i)
    if (const ScheduledTask& task = scheduler.task(i); task.is_active()) texts.push_back(task_text(task, detail));
  return join(texts, " | ");
}

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
  if (is_live)
    live_.show(progress_text(scheduler, left_s, live_.room()));
  else
    log_info(fmt::format("{:>8.1f} s  {}", now, progress_text(scheduler, left_s)));
}

std::string progress_text(const ShareScheduler& scheduler, double left_s, std::size_t columns) {
  const std::string decision = fmt::format("; next decision in {}", human_duration(std::max(0.0, left_s)));
  // What matters least is left out first, down to who has which ranks.
  for (const Detail detail : {Detail::all, Detail::time_left, Detail::ranks}) {
    std::string text = tasks_text(scheduler, detail);
    if (num_characters(text) + decision.size() <= columns) return text + decision;
    if (num_characters(text) <= columns) return text;
  }
  const std::string whole = tasks_text(scheduler, Detail::ranks);
  return first_characters(whole, columns);
}

}  // namespace multicard
