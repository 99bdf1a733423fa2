#include "postproc/study/DataSets.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "base/Percent.hpp"
#include "base/Text.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/Axes.hpp"
#include "postproc/study/Labels.hpp"

namespace multicard::post {

namespace {

/// The configuration's label: data sets are named cases or paths.
std::string name_of_set(const Study& study, const Cell& cell) {
  return study.configuration(cell).full_label();
}

/// Step times are compared, so that the rate need not be known.
bool is_complete(const Cell& cell) {
  return cell.status == CellStatus::complete && cell.step_time.known();
}

/// The share of the differences between `values` that vanishes when each is divided by its size.
double share_explained(const std::vector<double>& values, const std::vector<double>& sizes) {
  // Logarithms, so that differences are ratios: R² = 1 - SS(t / n) / SS(t), with t the times and n the tokens.
  std::vector<double> before, after;
  for (std::size_t i = 0; i < values.size(); ++i) {
    before.push_back(std::log(values[i]));
    after.push_back(std::log(values[i] / sizes[i]));
  }
  return 1 - squares_around(mean(after), after) / squares_around(mean(before), before);
}

/// The share with an interval from those of the times: each time by itself moves to the ends of its interval, and what
/// the share changes by, upwards and downwards, is added in squares.
Estimate share_with_interval(const std::vector<Estimate>& times, const std::vector<double>& sizes) {
  std::vector<double> values;
  values.reserve(times.size());
  for (const Estimate& time : times)
    values.push_back(time.value);
  Estimate share;
  share.value = share_explained(values, sizes);
  const auto fewest = [](const Estimate& a, const Estimate& b) { return a.num_values < b.num_values; };
  share.num_values = std::ranges::min_element(times, fewest)->num_values;
  double up = 0, down = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (!times[i].interval || times[i].interval->low <= 0) return share;
    double above = 0, below = 0;
    for (const double end : {times[i].interval->low, times[i].interval->high}) {
      std::vector<double> moved = values;
      moved[i] = end;
      const double change = share_explained(moved, sizes) - share.value;
      above = std::max(above, change);
      below = std::min(below, change);
    }
    // The times are independent of each other: their contributions add in squares, for each side.
    up = std::hypot(up, above);
    down = std::hypot(down, below);
  }
  share.interval = Interval{share.value - down, std::min(1.0, share.value + up)};
  const bool repeated = std::ranges::all_of(times, [](const Estimate& time) { return time.basis == Basis::repeats; });
  share.basis = repeated ? Basis::repeats : Basis::steps;
  return share;
}

/// Compares the data sets of `cells`, all on `ranks` ranks.
LengthEffect effect_of(const Study& study, int ranks, const std::vector<const Cell*>& cells) {
  std::vector<Estimate> estimates;
  std::vector<double> times, tokens, computed;
  for (const Cell* cell : cells) {
    const TextReport text = *text_of_cell(study, *cell);
    estimates.push_back(cell->step_time);
    times.push_back(cell->step_time.value);
    tokens.push_back(text.tokens);
    computed.push_back(text.computed);
  }
  const auto spread = [](const std::vector<double>& values) {
    const auto [least, most] = std::ranges::minmax_element(values);
    return *most / *least;
  };
  LengthEffect effect;
  effect.ranks = ranks;
  effect.cells = cells;
  const auto [quickest, slowest] = std::ranges::minmax_element(times);
  effect.quickest = cells[static_cast<std::size_t>(quickest - times.begin())];
  effect.slowest = cells[static_cast<std::size_t>(slowest - times.begin())];
  effect.time_spread = spread(times);
  effect.token_spread = spread(tokens);
  // With equal tokens there is no length to explain anything, and equal times leave nothing to explain.
  if (!effect.equal_tokens() && effect.time_spread > 1) {
    effect.explained = share_with_interval(estimates, tokens);
    if (std::ranges::all_of(computed, [](double value) { return value > 0; }))
      effect.explained_with_padding = share_with_interval(estimates, computed);
  }
  return effect;
}

std::string explained_text(const Estimate& share) {
  const auto text = [](double value) { return value > 0 ? percent(value) : "nothing"; };
  if (!share.interval || share.interval->high <= 0) return text(share.value);
  return fmt::format("{} (95 % interval {} to {})", text(share.value), text(share.interval->low),
                     text(share.interval->high));
}

std::string equality_text(const LengthEffect& effect) {
  // Half the spread: both ends are that far from the middle of their range.
  const std::string deviation = "± " + percent(effect.token_deviation());
  if (effect.token_deviation() <= kHeldEqual)
    return fmt::format("Input tokens per step are equal within {}, so that their number explains almost none of it.",
                       deviation);
  return fmt::format(
      "Warning: input tokens per step are equal within {} only, not within the ± {} that equal "
      "steps are held to. Compare rates instead of step times.",
      deviation, percent(kHeldEqual));
}

/// How the longest and the shortest step compare.
std::string times_text(const Study& study, const LengthEffect& effect) {
  const Estimate slowest = in_milliseconds(effect.slowest->step_time);
  const Estimate quickest = in_milliseconds(effect.quickest->step_time);
  const std::string who =
      fmt::format("On {}, a step of {}", counted(effect.ranks, "rank"), name_of_set(study, *effect.slowest));
  const std::string other = name_of_set(study, *effect.quickest);
  const std::string values = fmt::format("{} ms against {} ms", with_interval(slowest), with_interval(quickest));
  if (significantly_different(slowest, quickest))
    return fmt::format("{} takes {} times as long as one of {}: {}", who, significant(effect.time_spread, 3), other,
                       values);
  if (slowest.interval && quickest.interval)
    return fmt::format("{} takes measurably no longer than one of {}: {}", who, other, values);
  return fmt::format("{} measures {} for one of {}, too few values to compare", who, values, other);
}

Evidence evidence_of(const LengthEffect& effect) {
  return {{"ranks", effect.ranks},
          {"data_sets", effect.cells.size()},
          {"slowest_ms", in_milliseconds(effect.slowest->step_time)},
          {"quickest_ms", in_milliseconds(effect.quickest->step_time)},
          {"time_spread", effect.time_spread},
          {"token_spread", effect.token_spread},
          {"token_deviation", effect.token_deviation()},
          {"held_equal", kHeldEqual},
          {"explained", effect.explained},
          {"explained_with_padding", effect.explained_with_padding}};
}

std::string sentence_of(const Study& study, const LengthEffect& effect) {
  const std::string times = times_text(study, effect);
  if (effect.equal_tokens()) return fmt::format("{}. {}", times, equality_text(effect));
  if (!effect.explained.known()) return times + ".";
  std::string out = fmt::format(
      "{}. The longest steps have {} times the tokens of the shortest: at one rate for all, the number of tokens alone "
      "would explain {} of the differences between the {}",
      times, significant(effect.token_spread, 3), explained_text(effect.explained),
      counted(static_cast<long>(effect.cells.size()), "data set"));
  if (effect.explained_with_padding.known())
    out += fmt::format(", and {} with the padding counted", explained_text(effect.explained_with_padding));
  return out + ".";
}

std::set<std::string> values_of(const Study& study, const std::string& key) {
  std::set<std::string> values;
  for (const RunReport& run : study.runs)
    if (const std::string value = setting(run, key); !value.empty()) values.insert(value);
  return values;
}

}  // namespace

bool compares_data_sets(const Study& study) {
  const bool counts_tokens = std::ranges::any_of(study.runs, [](const RunReport& run) { return run.text.has_value(); });
  return counts_tokens && values_of(study, "data.train").size() > 1;
}

std::optional<TextReport> text_of_cell(const Study& study, const Cell& cell) {
  std::vector<const TextReport*> texts;
  for (const std::size_t run : cell.measured)
    if (study.runs[run].text) texts.push_back(&*study.runs[run].text);
  if (texts.empty()) return std::nullopt;
  // longest_row is of the data set, the same in every run.
  TextReport out = *texts.front();
  for (double TextReport::*member :
       {&TextReport::rows, &TextReport::tokens, &TextReport::trained, &TextReport::computed, &TextReport::imbalance}) {
    std::vector<double> values;
    values.reserve(texts.size());
    for (const TextReport* text : texts)
      values.push_back(text->*member);
    out.*member = mean(values);
  }
  return out;
}

Estimate in_milliseconds(Estimate seconds) {
  seconds.value *= 1000;
  if (seconds.interval) seconds.interval = Interval{1000 * seconds.interval->low, 1000 * seconds.interval->high};
  return seconds;
}

std::vector<LengthEffect> length_effects(const Study& study) {
  std::vector<LengthEffect> out;
  for (const int ranks : study.rank_counts) {
    std::vector<const Cell*> cells;
    for (const Cell& cell : study.cells)
      if (cell.ranks == ranks && is_complete(cell) && text_of_cell(study, cell)) cells.push_back(&cell);
    if (cells.size() > 1) out.push_back(effect_of(study, ranks, cells));
  }
  return out;
}

std::string fixed_amount(const Study& study) {
  // Rows are fixed by the decks; equal tokens are a goal that the runs show to be met.
  const std::set<std::string> rows = values_of(study, "global_batch");
  if (rows.size() == 1) return counted_text(*rows.begin(), "row") + " per step";
  const std::vector<LengthEffect> effects = length_effects(study);
  const bool equal = !effects.empty() && std::ranges::all_of(effects, &LengthEffect::equal_tokens);
  return equal ? "equal tokens per step" : std::string();
}

Findings data_set_findings(const Study& study) {
  Findings out;
  for (const LengthEffect& effect : length_effects(study))
    out.push_back({sentence_of(study, effect), evidence_of(effect), fmt::format("data_sets-{}", effect.ranks)});
  return out;
}

}  // namespace multicard::post
