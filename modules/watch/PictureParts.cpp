#include "watch/PictureParts.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "base/Percent.hpp"
#include "base/Shown.hpp"
#include "base/Terminal.hpp"
#include "base/Text.hpp"
#include "base/Utf8.hpp"

namespace multicard {

namespace {

constexpr std::size_t kLabel = 11;  ///< columns of the labels of fields

/// Of bars, which leave room for the words after them.
std::size_t bar_columns(const PictureLines& lines) {
  constexpr std::size_t kPart = 6, kMost = 20;
  return std::min(kMost, lines.form().columns / kPart);
}

/// The first characters of a text that is too long.
std::string cut(const std::string& text, std::size_t columns, Characters characters) {
  if (num_characters(text) <= columns) return text;
  const bool is_ascii = characters == Characters::ascii;
  const std::size_t kept = columns - std::min<std::size_t>(columns, is_ascii ? 2 : 1);
  std::size_t at = 0;
  for (std::size_t i = 0; i < kept; ++i)
    next_character(text, at);
  return text.substr(0, at) + (is_ascii ? ".." : "…");
}

std::string padded(const std::string& text, std::size_t columns) {
  const std::size_t width = num_characters(text);
  return text + std::string(columns > width ? columns - width : 0, ' ');
}

std::string phases_text(const WatchedRun& run) {
  std::string text;
  for (std::size_t i = 0; i < kPhaseNames.size(); ++i)
    if (run.phases[i] >= 0.005)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kPhaseNames[i], percent(run.phases[i]));
  if (!std::isfinite(run.step_s)) return text;
  return fmt::format("{} ms{}{}", significant(1e3 * run.step_s, 3), text.empty() ? "" : ": ", text);
}

std::string ranks_text(const WatchedRun& run) {
  std::string text = fmt::format("{} on {}", counted(run.ranks, "rank"), counted(run.hosts, "host"));
  std::vector<WatchedRank> known;
  std::ranges::copy_if(run.per_rank, std::back_inserter(known),
                       [](const WatchedRank& rank) { return std::isfinite(rank.own_s); });
  if (known.size() < 2) return text;
  const auto [fastest, slowest] = std::ranges::minmax(known, {}, &WatchedRank::own_s);
  return fmt::format("{}; own part of a step {} to {} ms, rank {} is the slowest", text,
                     significant(1e3 * fastest.own_s, 3), significant(1e3 * slowest.own_s, 3), slowest.rank);
}

std::string memory_text(const WatchedRun& run) {
  std::string text;
  for (const WatchedMemory& memory : run.memory) {
    std::string kind = memory.kind;
    std::ranges::replace(kind, '_', ' ');
    text += fmt::format("{}{} {} (peak {})", text.empty() ? "" : ", ", kind,
                        human_bytes(static_cast<double>(memory.now)), human_bytes(static_cast<double>(memory.peak)));
  }
  if (const auto total = run.predicted.find("total"); total != run.predicted.end())
    text += fmt::format("{}predicted tensors {}", text.empty() ? "" : ", ",
                        human_bytes(static_cast<double>(total->second)));
  return text;
}

std::string evaluation_text(const WatchedRun& run) {
  std::string text;
  for (const auto& [name, value] : run.evaluation) {
    std::string word = name.substr(name.starts_with("eval_") ? 5 : 0);
    std::ranges::replace(word, '_', ' ');
    text += fmt::format(", {} {}", word, significant(value));
  }
  return text.empty() ? text : fmt::format("after step {}{}", run.evaluated_at, text);
}

std::string checkpoint_text(const WatchedRun& run, double now) {
  if (run.checkpoint.step < 0) return {};
  std::string text = fmt::format("of step {}", run.checkpoint.step);
  if (std::isfinite(run.checkpoint.time))
    text += fmt::format(", {} ago", human_duration(std::max(0.0, now - run.checkpoint.time)));
  if (std::isfinite(run.checkpoint.write_s))
    text += fmt::format(", written in {} s", significant(run.checkpoint.write_s, 2));
  if (std::isfinite(run.checkpoint.training_s))
    text += fmt::format(", training waited {} s", significant(run.checkpoint.training_s, 2));
  return text;
}

std::vector<PlotPoint> points_of(const WatchedRun& run, double WatchPoint::*value) {
  std::vector<PlotPoint> points;
  for (const WatchPoint& point : run.history)
    points.push_back({static_cast<double>(point.step), point.*value});
  return points;
}

/// Loss and rate, next to each other where there is room.
void add_curves(const WatchedRun& run, PictureLines& lines) {
  constexpr std::size_t kTwo = 76, kGap = 2;
  const PictureForm& form = lines.form();
  const bool is_pair = form.columns >= kTwo;
  const std::size_t width = is_pair ? (form.columns - kGap) / 2 : form.columns;
  const auto drawn = [&](const std::string& title, double WatchPoint::*value) {
    return plot(title, points_of(run, value), width, form.plot_rows, form.characters);
  };
  const std::vector<std::string> loss = drawn(loss_text(run), &WatchPoint::loss),
                                 rate = drawn(rate_text(run), &WatchPoint::rate);
  for (std::size_t i = 0; i < std::max(loss.size(), is_pair ? rate.size() : 0); ++i) {
    const std::string left = i < loss.size() ? loss[i] : "";
    lines.add(is_pair && i < rate.size() ? padded(left, width + kGap) + rate[i] : left);
  }
  if (is_pair) return;
  for (const std::string& line : rate)
    lines.add(line);
}

void add_progress(const WatchedRun& run, PictureLines& lines) {
  const double share = run.total_steps > 0 ? static_cast<double>(run.step) / static_cast<double>(run.total_steps) : 0;
  std::string text =
      fmt::format("{} {}  step {}/{}, epoch {}/{}", bar(share, bar_columns(lines), lines.form().characters),
                  percent(share), grouped(run.step), grouped(run.total_steps), run.epoch, run.epochs);
  if (std::isfinite(run.left_s) && run.step < run.total_steps) text += ", " + left_text(run.left_s);
  lines.add(text);
}

std::string share_of_ranks(const WatchedShare& share) {
  std::string text;
  for (const WatchedTask& task : share.tasks) {
    if (task.ranks == 0) continue;
    std::string ranks = shown(task.rank_list);
    if (ranks.empty()) {  // of an older version, whose ranks are consecutive
      const std::int64_t last = task.first_rank + task.ranks - 1;
      ranks = task.ranks == 1 ? fmt::format("{}", last) : fmt::format("{}-{}", task.first_rank, last);
    }
    text += fmt::format("{}{} has {} {}", text.empty() ? "" : "; ", shown(task.name),
                        task.ranks == 1 ? "rank" : "ranks", ranks);
  }
  return text;
}

/// A row of the table of tasks, with the newest of both files.
std::string task_row(const WatchedTask& task, const WatchedRun* run, const PictureLines& lines) {
  constexpr std::size_t kName = 12, kCurve = 16;
  const std::int64_t step = run ? std::max(run->step, task.step) : task.step;
  const std::int64_t total = run && run->total_steps > 0 ? run->total_steps : task.total_steps;
  const double step_s = run && task.ranks > 0 && std::isfinite(run->step_s) ? run->step_s : task.step_s;
  const double left = run && task.ranks > 0 ? run->left_s : task.left_s;
  std::string row =
      fmt::format("{} {:<9} {:>5} {:>15}", padded(cut(shown_in_line(task.name), kName, lines.form().characters), kName),
                  task.state, task.ranks, fmt::format("{}/{}", step, total));
  row += fmt::format(" {:>9}", step_s > 0 && task.ranks > 0 ? significant(1 / step_s, 3) : "");
  row += fmt::format(" {:>12}", task.state == "training" && std::isfinite(left) ? human_duration(left) : "");
  row += fmt::format(" {:>8}", run && std::isfinite(run->loss) ? significant(run->loss, 3) : "");
  if (!run || lines.form().columns < num_characters(row) + 2 + kCurve) return row;
  const std::vector<PlotPoint> points = points_of(*run, &WatchPoint::loss);
  double low = kNone, high = kNone;
  for (const PlotPoint& point : points) {
    low = std::fmin(low, point.y);
    high = std::fmax(high, point.y);
  }
  return lines.form().characters == Characters::ascii
             ? row
             : row + "  " + curve(points, kCurve, 1, low, high, lines.form().characters).front();
}

}  // namespace

std::string shown_in_line(std::string_view text) {
  std::string line = shown(text);
  for (char& c : line)
    if (c == '\n' || c == '\t') c = ' ';
  return line;
}

void PictureLines::add(const std::string& text, Tone tone) {
  lines_.push_back({cut(shown_in_line(text), form_.columns, form_.characters), tone});
}

void PictureLines::field(const std::string& label, const std::string& text, Tone tone) {
  if (text.empty()) return;
  const std::string line = fmt::format("{:<{}}{}", label, kLabel, shown(text));
  for (const std::string& part : split(wrapped(line, form_.columns, kLabel), '\n'))
    add(part, tone);
}

std::string bar(double share, std::size_t columns, Characters characters) {
  const auto filled = static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(columns)));
  const bool is_ascii = characters == Characters::ascii;
  std::string text = is_ascii ? "[" : "";
  for (std::size_t i = 0; i < columns; ++i)
    text += is_ascii ? (i < filled ? "#" : "-") : (i < filled ? "█" : "░");
  return text + (is_ascii ? "]" : "");
}

std::string loss_text(const WatchedRun& run) {
  if (!std::isfinite(run.loss)) return "loss";
  return fmt::format("loss {}", significant(run.loss, 4));
}

std::string rate_text(const WatchedRun& run) {
  if (!std::isfinite(run.rate)) return "rate";
  return fmt::format("{} {}/s", run.rate >= 1e4 ? grouped(std::llround(run.rate)) : significant(run.rate, 4),
                     shown(run.unit));
}

std::string left_text(double left_s) {
  return std::isfinite(left_s) ? human_duration(left_s) + " left" : std::string();
}

void add_run(const WatchedRun& run, PictureLines& lines) {
  if (!run.name.empty()) lines.field("run", run.name);
  add_progress(run, lines);
  if (lines.form().plot_rows > 0)
    add_curves(run, lines);
  else
    lines.add(loss_text(run) + ", " + rate_text(run));
  lines.field("step time", phases_text(run));
  lines.field("ranks", ranks_text(run));
  lines.field("memory", memory_text(run));
  lines.field("test", evaluation_text(run));
  lines.field("checkpoint", checkpoint_text(run, lines.form().now));
  for (const WatchedFinding& finding : run.findings)
    lines.field("finding", finding.text, Tone::warning);
  lines.field("problem", run.problem, Tone::bad);
}

void add_sweep(const WatchedSweep& sweep, PictureLines& lines) {
  const double share = sweep.total > 0 ? static_cast<double>(sweep.done) / static_cast<double>(sweep.total) : 0;
  std::string text = fmt::format("{} {}/{} variants done", bar(share, bar_columns(lines), lines.form().characters),
                                 sweep.done, sweep.total);
  if (sweep.failed > 0) text += fmt::format(", {} failed", sweep.failed);
  if (std::isfinite(sweep.left_s) && sweep.left_s > 0) text += fmt::format(", about {}", left_text(sweep.left_s));
  lines.add(text);
}

void add_share(const OutputView& watched, PictureLines& lines) {
  const WatchedShare& share = *watched.status->share;
  lines.add(fmt::format("{:<12} {:<9} {:>5} {:>15} {:>9} {:>12} {:>8}", "task", "state", "ranks", "step", "steps/s",
                        "left", "loss"),
            Tone::faint);
  for (const WatchedTask& task : share.tasks) {
    const auto run = watched.tasks.find(task.name);
    const Tone tone = task.state == "failed" ? Tone::bad : task.state == "complete" ? Tone::good : Tone::plain;
    lines.add(task_row(task, run == watched.tasks.end() ? nullptr : &run->second, lines), tone);
  }
  lines.field("ranks", share_of_ranks(share));
  if (std::isfinite(share.next_decision_s) && watched.liveness == Liveness::working)
    lines.field("next", fmt::format("decision in {} (policy {}, {})",
                                    human_duration(std::max(0.0, share.next_decision_s - watched.age_s)), share.policy,
                                    share.objective));
  for (const AllocationChange& change : share.changes)
    lines.field("decided", fmt::format("at {} s: {} {} -> {}; {}", significant(change.time_s, 4), change.task,
                                       change.from, counted(change.to, "rank"), change.reason));
  for (const auto& [name, run] : watched.tasks)
    for (const WatchedFinding& finding : run.findings)
      lines.field("finding", fmt::format("{}: {}", name, finding.text), Tone::warning);
  for (const auto& [name, run] : watched.tasks)
    if (!run.problem.empty()) lines.field("problem", fmt::format("{}: {}", name, run.problem), Tone::bad);
}

}  // namespace multicard
