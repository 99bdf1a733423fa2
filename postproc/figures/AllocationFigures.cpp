#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/Percent.hpp"
#include "base/Text.hpp"
#include "postproc/draw/BarChart.hpp"
#include "postproc/draw/Palette.hpp"
#include "postproc/figures/Figures.hpp"
#include "postproc/study/ShareAnswer.hpp"

namespace multicard::post {

namespace {

/// A bar each: more would be too thin to read; the caption gives the number left out.
constexpr std::int64_t kMostRanks = 32;

/// Colours of tasks in the order in which they began.
std::vector<std::pair<std::string, std::string>> legend_of(const std::vector<AllocationInterval>& intervals) {
  std::vector<std::pair<std::string, std::string>> legend;
  for (const AllocationInterval& interval : intervals)
    if (std::ranges::none_of(legend, [&](const auto& known) { return known.second == interval.task; }))
      legend.emplace_back(kColours[legend.size() % kColours.size()], interval.task);
  return legend;
}

const std::string& colour_of(const std::vector<std::pair<std::string, std::string>>& legend, const std::string& task) {
  return std::ranges::find_if(legend, [&](const auto& entry) { return entry.second == task; })->first;
}

/// What a rank did, with gaps.
Bar bar_of(std::int64_t rank, const std::vector<AllocationInterval>& intervals,
           const std::vector<std::pair<std::string, std::string>>& legend) {
  Bar bar;
  bar.label = fmt::format("rank {}", rank);
  double until = 0;
  for (const AllocationInterval& interval : intervals) {
    if (!has_rank(interval, rank)) continue;
    // A segment without a colour is a gap: the rank had no task.
    if (interval.start_s > until) bar.segments.push_back({interval.start_s - until, "", ""});
    // Intervals that overlap are drawn from where the one before ended.
    const double from = std::max(interval.start_s, until);
    if (interval.end_s > from)
      bar.segments.push_back({interval.end_s - from, colour_of(legend, interval.task), interval.task});
    until = std::max(until, interval.end_s);
  }
  return bar;
}

/// Share of the seconds of all ranks in which they had a task.
double busy_share(const std::vector<AllocationInterval>& intervals, std::int64_t num_ranks, double end_s) {
  double busy = 0;
  for (const AllocationInterval& interval : intervals)
    busy += static_cast<double>(interval.ranks) * (interval.end_s - interval.start_s);
  return end_s > 0 ? busy / (static_cast<double>(num_ranks) * end_s) : 0;
}

/// A bar for each rank, with the seconds since the first launch; every interval of a task but its first is a move.
Figure allocation_figure(const std::vector<AllocationInterval>& intervals, std::size_t number) {
  std::int64_t num_ranks = 0;
  const double end_s = end_of(intervals);
  std::map<std::string, int> changes;
  for (const AllocationInterval& interval : intervals) {
    num_ranks = std::max(num_ranks, rank_runs(interval).back().last + 1);
    ++changes[interval.task];
  }
  int num_moves = 0;
  for (const auto& [task, number_of_intervals] : changes)
    num_moves += number_of_intervals - 1;
  const std::int64_t shown = std::min(num_ranks, kMostRanks);
  BarChart chart;
  chart.legend = legend_of(intervals);
  const Finding title{fmt::format("{} had {}, with {}", counted(static_cast<long>(changes.size()), "task"),
                                  counted(static_cast<long>(num_ranks), "rank"), counted(num_moves, "move")),
                      {{"tasks", changes.size()}, {"ranks", num_ranks}, {"moves", num_moves}}};
  chart.subtitle = "Which task each rank had";
  chart.x_name = "seconds since the first launch";
  for (std::int64_t rank = 0; rank < shown; ++rank)
    chart.bars.push_back(bar_of(rank, intervals, chart.legend));
  std::string caption = fmt::format("The ranks had a task during {} of the time until the last one ended.",
                                    percent(busy_share(intervals, num_ranks, end_s)));
  if (shown < num_ranks) caption += fmt::format(" The first {} of {} ranks are shown.", shown, num_ranks);
  return figure_of(fmt::format("allocation-{}", number), Section::study, title, chart, caption);
}

}  // namespace

void add_allocation_figures(const Study& study, std::vector<Figure>& figures) {
  std::size_t number = 0;
  for (const Source& source : study.sources)
    if (const auto& intervals = source.allocation.intervals; !intervals.empty())
      figures.push_back(allocation_figure(intervals, ++number));
}

}  // namespace multicard::post
