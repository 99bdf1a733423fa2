#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/draw/DotChart.hpp"
#include "postproc/draw/Palette.hpp"
#include "postproc/figures/Bars.hpp"
#include "postproc/figures/Figures.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/Labels.hpp"

namespace multicard::post {

namespace {

/// A ratio of rates with its interval; a cross where no pair of cells completed.
Dot dot_of(const OptionEffect& effect, const std::string& colour) {
  Dot dot;
  dot.label = effect.label();
  if (!effect.ratio.known()) {
    dot.note = "did not complete";
    return dot;
  }
  dot.colour = colour;
  dot.value = effect.ratio.value;
  dot.interval = error_bar(effect.ratio);
  dot.note = alike(effect.ratio.value, effect.ratio.value, 3);
  dot.hover = fmt::format("{}: {} times the rate, {}", effect.label(), with_interval(effect.ratio, 3),
                          counted_pairs(effect.ratio.num_values, "runs"));
  return dot;
}

/// The option that changes most, of those that a choice can rest on; null when there is none.
const OptionEffect* strongest(const std::vector<OptionEffect>& effects) {
  const OptionEffect* most = nullptr;
  for (const OptionEffect& effect : effects)
    // By the size of the change in either direction: half the rate is as much as twice.
    if (effect.supported() && (!most || std::abs(std::log(effect.ratio.value)) > std::abs(std::log(most->ratio.value))))
      most = &effect;
  return most;
}

Finding title_of(const std::vector<OptionEffect>& effects) {
  const OptionEffect* most = strongest(effects);
  if (!most) return {"No option makes a difference that these data show"};
  return {fmt::format("{} changes most: {} times the rate", most->label(), significant(most->ratio.value, 3)),
          {{"ratio", most->ratio}}};
}

/// How many intervals exclude 1.
std::string exclusion_text(long decided, long all) {
  if (decided == 0) return "No option's 95 % interval excludes 1.";
  return fmt::format("The 95 % intervals of {} of {} exclude 1.", decided, counted(all, "option"));
}

/// How many options are decided, over how many pairs, and what the intervals cover.
std::string caption_of(const std::vector<OptionEffect>& effects) {
  const auto decided = std::ranges::count_if(effects, &OptionEffect::decided);
  int num_pairs = 0, num_unfinished = 0;
  for (const OptionEffect& effect : effects) {
    num_pairs += effect.ratio.num_values;
    num_unfinished += effect.num_unfinished;
  }
  const std::string unfinished =
      num_unfinished ? fmt::format("; {} did not complete", counted_pairs(num_unfinished, "cells")) : std::string();
  return fmt::format("{}{}{}", exclusion_text(decided, static_cast<long>(effects.size())),
                     fmt::format(" {} compared{}.", counted_pairs(num_pairs, "runs"), unfinished),
                     effects.front().ratio.basis == Basis::cells
                         ? " Cells were run once: the intervals cover variation between cells, not between runs."
                         : "");
}

}  // namespace

void add_option_figures(const Study& study, std::vector<Figure>& figures) {
  int number = 0;
  for (const std::vector<OptionEffect>& effects : pieces(study.effects, kMostBars)) {
    DotChart chart;
    for (const OptionEffect& effect : effects)
      chart.dots.push_back(dot_of(effect, kPlain));
    if (std::ranges::none_of(effects, [](const auto& effect) { return effect.ratio.known(); })) continue;
    const Finding title = title_of(effects);
    chart.subtitle =
        "One option changed at a time, everything else and the number of ranks equal: rate over the rate without it, "
        "geometric mean over pairs, 95 % intervals" +
        std::string(std::ranges::any_of(effects, [](const auto& effect) { return effect.num_unfinished > 0; })
                        ? ", × did not complete"
                        : "");
    chart.x_name = "times the rate";
    figures.push_back(
        figure_of(numbered("options", number++), Section::study, title, chart, caption_of(effects), kOptionEffect));
  }
}

}  // namespace multicard::post
