#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/draw/Palette.hpp"
#include "postproc/figures/Bars.hpp"
#include "postproc/figures/Figures.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/Labels.hpp"
#include "postproc/study/OptionWorth.hpp"

namespace multicard::post {

namespace {

Bar bar_of(const OptionWorth& worth, const std::string& colour) {
  Bar bar;
  bar.label = worth.label();
  if (!worth.ratio.known()) {
    bar.status = BarStatus::failed;
    bar.note = "did not complete";
    return bar;
  }
  bar.segments = {{worth.ratio.value, colour, "#111111", ""}};
  bar.interval = error_bar(worth.ratio);
  bar.note = alike(worth.ratio.value, worth.ratio.value, 3);
  return bar;
}

/// The option that changes most, of those that the data decide; null when there is none.
const OptionWorth* strongest(const std::vector<OptionWorth>& worths) {
  const OptionWorth* most = nullptr;
  for (const OptionWorth& worth : worths)
    if (worth.decided() && (!most || std::abs(std::log(worth.ratio.value)) > std::abs(std::log(most->ratio.value))))
      most = &worth;
  return most;
}

std::string title_of(const std::vector<OptionWorth>& worths) {
  const OptionWorth* most = strongest(worths);
  if (!most) return "No option makes a difference that these data show";
  return fmt::format("{} changes most: {} times the rate", most->label(), significant(most->ratio.value, 3));
}

/// How many intervals exclude 1.
std::string exclusion_text(long decided, long all) {
  if (decided == 0) return "No option's 95 % interval excludes 1.";
  return fmt::format("The 95 % intervals of {} of {} exclude 1.", decided, counted(all, "option"));
}

std::string caption_of(const std::vector<OptionWorth>& worths) {
  const auto decided =
      std::count_if(worths.begin(), worths.end(), [](const OptionWorth& worth) { return worth.decided(); });
  int num_pairs = 0, num_unfinished = 0;
  for (const OptionWorth& worth : worths) {
    num_pairs += worth.ratio.num_values;
    num_unfinished += worth.num_unfinished;
  }
  const std::string unfinished =
      num_unfinished ? fmt::format("; {} did not complete", counted_pairs(num_unfinished, "cells")) : std::string();
  return fmt::format("{}{}{}", exclusion_text(decided, static_cast<long>(worths.size())),
                     fmt::format(" {} compared{}.", counted_pairs(num_pairs, "runs"), unfinished),
                     worths.front().ratio.basis == Basis::cells
                         ? " Cells were run once: the intervals hold how cells differ, not how runs do."
                         : "");
}

}  // namespace

void add_option_figures(const Study& study, std::vector<Figure>& figures) {
  const std::vector<OptionWorth> all = option_worths(study);
  int number = 0;
  for (std::size_t from = 0; from < all.size(); from += kMostBars) {
    const std::vector<OptionWorth> worths(
        all.begin() + static_cast<std::ptrdiff_t>(from),
        all.begin() + static_cast<std::ptrdiff_t>(std::min(from + kMostBars, all.size())));
    BarChart chart;
    std::size_t colour = 0;
    for (std::size_t i = 0; i < worths.size(); ++i) {
      if (i > 0 && worths[i].key != worths[i - 1].key) ++colour;
      chart.bars.push_back(bar_of(worths[i], kColours[colour % kColours.size()]));
    }
    if (std::none_of(worths.begin(), worths.end(), [](const auto& worth) { return worth.ratio.known(); })) continue;
    chart.title = title_of(worths);
    chart.subtitle =
        "One option changed at a time, everything else and the number of ranks equal: rate over the rate without it, "
        "geometric mean over pairs, 95 % intervals" +
        std::string(
            std::any_of(worths.begin(), worths.end(), [](const auto& worth) { return worth.num_unfinished > 0; })
                ? ", × did not complete"
                : "");
    chart.x_name = "times the rate";
    chart.reference = 1;
    figures.push_back(
        figure_of(numbered("options", number++), Section::study, chart, caption_of(worths), kOptionWorth));
  }
}

}  // namespace multicard::post
