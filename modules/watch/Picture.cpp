#include "watch/Picture.hpp"

#include <cmath>

#include <fmt/format.h>

#include "base/Shown.hpp"
#include "base/Terminal.hpp"
#include "base/Text.hpp"
#include "watch/PictureParts.hpp"

namespace multicard {

namespace {

/// How it stands in words, and how that is to stand out.
PictureLine standing(const OutputView& watched) {
  const WatchStatus& status = *watched.status;
  const std::string age = human_duration(watched.age_s);
  switch (watched.liveness) {
    case Liveness::ended:
      return {fmt::format("{}, {} ago", status.state, age), status.state == "finished" ? Tone::good
                                                            : status.state == "failed" ? Tone::bad
                                                                                       : Tone::warning};
    case Liveness::gone:
      return {fmt::format("ended without finishing: process {} on {} is gone, last news {} ago", status.pid,
                          status.host, age),
              Tone::bad};
    case Liveness::silent:
      return {fmt::format("{}, but no news for {} (process {} on {})", status.state, age, status.pid, status.host),
              Tone::warning};
    case Liveness::working:
    case Liveness::missing:
      break;
  }
  std::string text = status.state;
  if (std::isfinite(status.started))
    text += fmt::format(" for {}", human_duration(std::max(0.0, status.updated - status.started)));
  return {text, Tone::heading};
}

}  // namespace

std::vector<PictureLine> picture_of(const OutputView& watched, const PictureForm& form) {
  PictureLines lines(form);
  if (!watched.status) {
    for (const std::string& part : split(wrapped(shown(watched.remark), form.columns, 2), '\n'))
      lines.add(part, Tone::faint);
    return lines.lines();
  }
  const WatchStatus& status = *watched.status;
  const PictureLine stands = standing(watched);
  lines.add(fmt::format("{}  {} {}", watched.output, status.kind, stands.text), stands.tone);
  if (status.sweep) add_sweep(*status.sweep, lines);
  if (status.share) add_share(watched, lines);
  if (status.run) add_run(*status.run, lines);
  const bool is_said = status.run && status.run->problem == status.problem;
  if (!is_said) lines.field("problem", status.problem, Tone::bad);
  return lines.lines();
}

std::string line_of(const OutputView& watched) {
  if (!watched.status) return shown_in_line(watched.remark);
  const WatchStatus& status = *watched.status;
  std::string text = fmt::format("{}  {} {}", watched.output, status.kind, standing(watched).text);
  if (status.sweep) text += fmt::format("  {}/{} variants", status.sweep->done, status.sweep->total);
  if (status.run) {
    const WatchedRun& run = *status.run;
    text += fmt::format("  step {}/{}  {}  {}", run.step, run.total_steps, loss_text(run), rate_text(run));
    if (watched.liveness == Liveness::working && std::isfinite(run.left_s)) text += "  " + left_text(run.left_s);
  }
  if (status.share)
    for (const WatchedTask& task : status.share->tasks) {
      const auto run = watched.tasks.find(task.name);
      text += fmt::format("  {}: {}, {}, step {}", task.name, task.state, counted(task.ranks, "rank"),
                          run == watched.tasks.end() ? task.step : std::max(run->second.step, task.step));
    }
  return shown_in_line(text);
}

}  // namespace multicard
