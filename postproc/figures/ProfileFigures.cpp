// Of runs with a profile: what the host spends in calls of CUDA, and one step of each rank.
#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>

#include "base/Percent.hpp"
#include "base/Text.hpp"
#include "postproc/figures/Bars.hpp"
#include "postproc/figures/Figures.hpp"
#include "postproc/study/ProfileSummary.hpp"
#include "postproc/study/Ranking.hpp"

namespace multicard::post {

namespace {

constexpr std::size_t kMostStepFigures = 2, kMostRanks = 16;

/// The calls that figure 3 of arXiv 2503.15252 shows, and all others.
struct CallColour {
  const char *name, *colour;
};
constexpr std::array<CallColour, 6> kCalls{{{"cudaLaunchKernel", "#A3B8D6"},
                                            {"cudaMemcpyAsync", "#EADB92"},
                                            {"cudaStreamSynchronize", "#E7A48C"},
                                            {"cudaEventSynchronize", "#E5BF86"},
                                            {"cudaEventDestroy", "#D6B1CB"},
                                            {"other calls", "#C6CACE"}}};

/// Nanoseconds of each of kCalls.
std::array<std::int64_t, kCalls.size()> times_of_calls(const CellProfile& of) {
  std::array<std::int64_t, kCalls.size()> times{};
  for (const NamedTimes& call : of.total.calls) {
    const auto* const found = std::ranges::find(kCalls, call.name, [](const CallColour& known) { return known.name; });
    const std::size_t place =
        found == kCalls.end() ? kCalls.size() - 1 : static_cast<std::size_t>(found - kCalls.begin());
    times[place] += call.time.total;
  }
  return times;
}

double share_of(const CellProfile& of, std::int64_t ns) {
  return static_cast<double>(ns) / static_cast<double>(of.total.api_ns);
}

Bar call_bar(const Study& study, const CellProfile& of, const std::vector<const Cell*>& cells) {
  Bar bar;
  bar.label = study.configuration(*of.cell).full_label();
  if (std::ranges::any_of(cells, [&](const Cell* other) { return other->ranks != of.cell->ranks; }))
    bar.label += ", " + counted(of.cell->ranks, "rank");
  const auto times = times_of_calls(of);
  for (std::size_t i = 0; i < times.size(); ++i)
    bar.segments.push_back(
        {of.per_step(times[i]) / 1e6, kCalls[i].colour, fmt::format("{:.0f} %", 100 * share_of(of, times[i]))});
  bar.note = significant(of.per_step(of.total.api_ns) / 1e6, 3) + " ms";
  bar.hover = origin_of(study, *of.cell);
  return bar;
}

/// The call that takes the largest share of any configuration, and that one.
Finding call_title(const Study& study, const std::vector<CellProfile>& profiles) {
  double most = 0;
  std::string text;
  for (const CellProfile& of : profiles) {
    const auto times = times_of_calls(of);
    for (std::size_t i = 0; i + 1 < times.size(); ++i) {
      const double share = share_of(of, times[i]);
      if (share <= most) continue;
      most = share;
      text = fmt::format("{} takes {}{} of the time in calls of CUDA{}", kCalls[i].name,
                         profiles.size() > 1 ? "up to " : "", percent(share),
                         profiles.size() > 1 ? ": " + study.configuration(*of.cell).full_label() : std::string());
    }
  }
  return {text, {{"share", most}}};
}

void add_call_figures(const Study& study, const std::vector<CellProfile>& profiles, std::vector<Figure>& figures) {
  int number = 0;
  for (std::size_t first = 0; first < profiles.size(); first += kMostBars) {
    const std::vector<CellProfile> part(
        profiles.begin() + static_cast<std::ptrdiff_t>(first),
        profiles.begin() + static_cast<std::ptrdiff_t>(std::min(first + kMostBars, profiles.size())));
    std::vector<const Cell*> cells;
    cells.reserve(part.size());
    for (const CellProfile& of : part)
      cells.push_back(of.cell);
    BarChart chart;
    for (const CellProfile& of : part)
      chart.bars.push_back(call_bar(study, of, cells));
    for (const CallColour& call : kCalls)
      chart.legend.emplace_back(call.colour, call.name);
    chart.subtitle = "Profile windows; mean over steps and ranks. In the bars: % of the time in calls of CUDA";
    chart.x_name = "ms per step";
    const Finding title = call_title(study, part);
    if (title.empty()) continue;  // none of the calls that have a colour
    figures.push_back(figure_of(numbered("calls", number++), Section::phases, title, chart,
                                "At right: all calls of CUDA that a rank makes in a step. They run on the host, and "
                                "those that synchronise wait for the GPU.",
                                "Calls of CUDA"));
  }
}

/// All phases of the median step, rank by rank.
Figure step_figure(const Study& study, const Cell& cell, const std::string& id) {
  const RunReport& run = representative(study, cell);
  BarChart chart;
  double longest = 0, longest_wait = 0;
  const std::size_t num_ranks = std::min(kMostRanks, run.rank_reports.size());
  for (std::size_t rank = 0; rank < num_ranks; ++rank) {
    const auto& phases = run.rank_reports[rank].median_step;
    Bar bar;
    bar.label = fmt::format("rank {}", rank);
    double sum = 0;
    for (std::size_t p = 0; p < kNumPhases; ++p) {
      bar.segments.push_back(phase_segment(p, 1000 * phases[p], significant(1000 * phases[p], 2)));
      sum += phases[p];
    }
    bar.note = significant(1000 * sum, 3) + " ms";
    longest = std::max(longest, sum);
    longest_wait = std::max(longest_wait, phases[static_cast<std::size_t>(Phase::reduce_wait)]);
    chart.bars.push_back(std::move(bar));
  }
  chart.legend = phase_legend();
  const Finding title{fmt::format("The median step takes {} ms, of which a rank waits up to {} ms for collectives",
                                  significant(1000 * longest, 3), significant(1000 * longest_wait, 2)),
                      {{"step_ms", 1000 * longest}, {"wait_ms", 1000 * longest_wait}}};
  const std::string some = num_ranks < run.rank_reports.size()
                               ? fmt::format(", the first {} of {}", num_ranks, counted(run.ranks, "rank"))
                               : std::string();
  chart.subtitle = fmt::format("{}{}: run {}. Phases in their order; parts of one phase together", name_of(study, cell),
                               some, run.name);
  chart.x_name = "ms";
  return figure_of(id, Section::phases, title, chart,
                   "The one step, of those measured, that took the median time of its slowest rank.", "A median step");
}

}  // namespace

void add_profile_figures(const Study& study, std::vector<Figure>& figures) {
  const std::vector<CellProfile> profiles = cell_profiles(study);
  std::vector<CellProfile> on_gpus = profiles;
  std::erase_if(on_gpus, [](const CellProfile& of) { return !of.has_gpu() || of.total.api_ns == 0; });
  add_call_figures(study, on_gpus, figures);
  int number = 0;
  for (const CellProfile& of : profiles) {
    if (number == static_cast<int>(kMostStepFigures)) break;
    if (of.cell->measured.empty() || representative(study, *of.cell).rank_reports.empty()) continue;
    figures.push_back(step_figure(study, *of.cell, numbered("median_step", number++)));
  }
}

}  // namespace multicard::post
