#include "postproc/study/OptionEffect.hpp"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/Labels.hpp"
#include "postproc/study/Ranking.hpp"
#include "postproc/study/StudyFindings.hpp"

namespace multicard::post {

namespace {

/// An axis of more values is a search, not an option to choose.
constexpr std::size_t kMostValues = 8;

/// The cell that differs from `cell` in `key` alone; null when it was not run.
const Cell* partner(const Study& study, const Cell& cell, const std::string& key, const std::string& value) {
  auto settings = study.configuration(cell).settings;
  settings[key] = value;
  for (std::size_t i = 0; i < study.configurations.size(); ++i)
    if (study.configurations[i].settings == settings) return study.cell(i, cell.ranks);
  return nullptr;
}

/// One ratio for each repeat that both cells have; the ratio of their medians where they share none.
std::vector<double> ratios_of(const Study& study, const Cell& cell, const Cell& baseline) {
  std::multimap<std::int64_t, double> known;
  for (const std::size_t run : baseline.measured)
    known.emplace(study.runs[run].repeat, study.runs[run].rate.value);
  std::vector<double> ratios;
  for (const std::size_t run : cell.measured) {
    const auto match = known.find(study.runs[run].repeat);
    if (match == known.end()) continue;
    ratios.push_back(study.runs[run].rate.value / match->second);
    // Each run is in one pair at most.
    known.erase(match);
  }
  if (ratios.empty()) ratios.push_back(cell.rate.value / baseline.rate.value);
  return ratios;
}

/// Everything but the option, and the ranks.
std::string surroundings(const Study& study, const Cell& cell, const std::string& key) {
  std::vector<std::string> parts;
  for (const Axis& axis : study.axes)
    if (axis.key != key) parts.push_back(study.keys.label(axis.key, study.configuration(cell).settings.at(axis.key)));
  if (study.has_scaling()) parts.push_back(counted(cell.ranks, "rank"));
  return join(parts, ", ");
}

OptionEffect effect_of(const Study& study, const Axis& axis, const std::string& value, const std::string& baseline) {
  OptionEffect effect;
  effect.key = axis.key;
  effect.value = value;
  effect.baseline = baseline;
  effect.name = study.keys.label(axis.key);
  effect.value_label = study.keys.label(axis.key, value);
  effect.baseline_label = study.keys.label(axis.key, baseline);
  std::vector<std::vector<double>> ratios;
  Estimate of_steps;
  for (const Cell& cell : study.cells) {
    if (study.configuration(cell).settings.at(axis.key) != value) continue;
    const Cell* other = partner(study, cell, axis.key, baseline);
    if (!other) continue;
    if (!cell.counts() || !other->counts()) {
      ++effect.num_unfinished;
      continue;
    }
    ratios.push_back(ratios_of(study, cell, *other));
    if (significantly_different(cell.rate, other->rate)) ++effect.num_significant;
    of_steps = ratio(cell.rate, other->rate);
    const double here = estimate_of_ratios({ratios.back()}).value;
    // Also true of the first pair, when `least` is NaN.
    if (!(here >= effect.least)) {
      effect.least = here;
      effect.least_at = surroundings(study, cell, axis.key);
    }
    if (!(here <= effect.most)) {
      effect.most = here;
      effect.most_at = surroundings(study, cell, axis.key);
    }
  }
  effect.num_cells = static_cast<int>(ratios.size());
  // A single pair of single runs has no spread: the interval is that of their steps.
  const bool once = ratios.size() == 1 && ratios.front().size() == 1;
  effect.ratio = once ? of_steps : estimate_of_ratios(ratios);
  if (effect.num_cells < 2) effect.least_at = effect.most_at = {};
  return effect;
}

}  // namespace

std::string OptionEffect::label() const {
  return fmt::format("{} instead of {}", value_label, baseline_label);
}

std::string OptionEffect::interval_text() const {
  if (!ratio.interval || ratio.basis == Basis::steps) return post::interval_text(ratio, 3);
  const std::string over =
      ratio.basis == Basis::cells
          ? fmt::format("{}, run once each", counted_pairs(num_cells, "cells"))
          : fmt::format("{} in {}", counted_pairs(ratio.num_values, "runs"), counted(num_cells, "cell"));
  return fmt::format(" (95 % interval {} over {})", range_text(ratio, 3), over);
}

std::vector<OptionEffect> option_effects(const Study& study) {
  std::vector<OptionEffect> out;
  for (const Axis& axis : study.axes) {
    if (axis.is_work || axis.is_learning || axis.values.size() > kMostValues) continue;
    const std::string baseline = baseline_value(axis);
    for (const std::string& value : axis.values)
      if (value != baseline) {
        OptionEffect effect = effect_of(study, axis, value, baseline);
        if (effect.num_cells || effect.num_unfinished) out.push_back(std::move(effect));
      }
  }
  return out;
}

}  // namespace multicard::post
