#include "postproc/study/Advice.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/Labels.hpp"
#include "postproc/study/OptionEffect.hpp"
#include "postproc/study/Ranking.hpp"

namespace multicard::post {

namespace {

constexpr double kIndifferent = 0.03;  ///< an interval this close to 1 means that the option hardly matters

/// Every number that sentences about an option may state.
Evidence evidence_of(const std::vector<OptionEffect>& effects) {
  Evidence evidence;
  for (const OptionEffect& effect : effects) {
    const std::string name = effect.value + ".";
    evidence.add({{name + "ratio", effect.ratio},
                  {name + "pairs", effect.ratio.num_values},
                  {name + "cells", effect.num_cells},
                  {name + "significant", effect.num_significant},
                  {name + "unfinished", effect.num_unfinished},
                  {name + "least", effect.least},
                  {name + "most", effect.most}});
  }
  return evidence;
}

/// "2.31 times the rate of fp32 (95 % interval …)"
std::string factor_text(const OptionEffect& effect) {
  return fmt::format("{} times the rate of {}{}", alike(effect.ratio.value, effect.ratio.value, 3),
                     effect.baseline_label, effect.interval_text());
}

/// How far the effect varies with the other settings. `subject` is "Its effect" or names the value.
std::string range_sentence(const OptionEffect& effect, const std::string& subject) {
  constexpr double kWorthMentioning = 1.1;
  if (effect.num_cells < 2 || effect.most / effect.least < kWorthMentioning) return {};
  return fmt::format(" {} varies: {} times at {}, {} at {}.", subject, alike(effect.least, effect.least, 3),
                     effect.least_at, alike(effect.most, effect.most, 3), effect.most_at);
}

/// `it` names the value in a list of several.
std::string unfinished_sentence(const OptionEffect& effect, const std::string& it) {
  if (effect.num_unfinished == 0) return {};
  return fmt::format(" {} with {} did not complete.", counted_pairs(effect.num_unfinished, "cells"), it);
}

/// Supported: the interval excludes 1, and without repeats every single pair agrees.
bool is_better(const OptionEffect& effect) {
  return effect.supported() && effect.ratio.interval->low > 1;
}

/// The best value, and those whose intervals overlap with its: they are not significantly different. By effect.
std::vector<const OptionEffect*> best_of(const std::vector<OptionEffect>& effects) {
  std::vector<const OptionEffect*> found;
  for (const OptionEffect& effect : effects)
    if (is_better(effect)) found.push_back(&effect);
  std::ranges::sort(found, [](auto* a, auto* b) { return a->ratio.value > b->ratio.value; });
  const auto beaten = [&](const OptionEffect* effect) {
    return significantly_different(effect->ratio, found.front()->ratio);
  };
  found.erase(std::remove_if(found.begin(), found.end(), beaten), found.end());
  return found;
}

/// "use fp16, 2 times the rate of fp32", or "use fp16 or bf16, which are not significantly different here: …; …"
std::string recommendation(const std::vector<const OptionEffect*>& best) {
  std::vector<std::string> names, factors;
  std::string rest;
  for (const OptionEffect* effect : best) {
    names.push_back(effect->value_label);
    factors.push_back(best.size() > 1 ? fmt::format("{}: {}", names.back(), factor_text(*effect))
                                      : factor_text(*effect));
    const std::string it = best.size() > 1 ? names.back() : "it";
    rest += range_sentence(*effect, best.size() > 1 ? "The effect of " + it : "Its effect") +
            unfinished_sentence(*effect, it);
  }
  return fmt::format("use {}{} {}.{}", join(names, " or "),
                     best.size() > 1 ? ", which are not significantly different here:" : ",", join(factors, "; "),
                     rest);
}

/// Why a measured difference supports no choice: nothing was repeated.
std::string doubt(const std::vector<OptionEffect>& effects) {
  std::string out;
  for (const OptionEffect& effect : effects)
    if (effect.decided() && !effect.supported())
      out += fmt::format(" {} was run once per cell and is significantly different from {} in {} of {}.",
                         capitalised(effect.value_label), effect.baseline_label, effect.num_significant,
                         counted(effect.num_cells, "cell"));
  return out;
}

/// The whole interval lies within kIndifferent of 1: a small effect was measured, rather than none found.
bool hardly_matters(const OptionEffect& effect) {
  return effect.ratio.interval && effect.ratio.interval->low > 1 - kIndifferent &&
         effect.ratio.interval->high < 1 + kIndifferent;
}

/// All values with their effects, for sentences that recommend none of them.
std::string each(const std::vector<OptionEffect>& effects) {
  std::vector<std::string> parts;
  parts.reserve(effects.size());
  for (const OptionEffect& effect : effects)
    parts.push_back(effect.ratio.known()
                        ? fmt::format("{}: {}{}", effect.value_label, alike(effect.ratio.value, effect.ratio.value, 3),
                                      effect.interval_text())
                        : fmt::format("{}: did not complete", effect.value_label));
  return join(parts, "; ");
}

/// About one option: all its values against the baseline.
std::string option_sentence(const std::vector<OptionEffect>& effects) {
  const std::string name = capitalised(effects.front().name);
  const std::string baseline = effects.front().baseline_label;
  const auto for_all = [&](const auto& holds) {  // measured values, of which there must be one
    const auto is_known = [](const OptionEffect& effect) { return effect.ratio.known(); };
    return std::ranges::any_of(effects, is_known) &&
           std::ranges::all_of(effects, [&](const OptionEffect& effect) { return !is_known(effect) || holds(effect); });
  };
  if (const auto best = best_of(effects); !best.empty()) return fmt::format("{}: {}", name, recommendation(best));
  const auto slower = [](const OptionEffect& effect) { return effect.supported() && effect.ratio.interval->high < 1; };
  if (for_all(slower)) return fmt::format("{}: stay with {}; against it, {}.", name, baseline, each(effects));
  if (for_all(hardly_matters))
    return fmt::format("{}: it hardly matters; against {}, {}.", name, baseline, each(effects));
  return fmt::format("{}: the data do not support a choice; against {}, {}.{}", name, baseline, each(effects),
                     doubt(effects));
}

/// The best options on one kind of work, and up to how many ranks they keep an efficiency of kWorthwhileEfficiency.
struct RanksThatPay {
  std::string work;
  int ranks = 0, measured = 0;
  bool is_clear = true;      ///< no interval contains kWorthwhileEfficiency
  bool has_interval = true;  ///< every efficiency but that of the baseline's ranks has one
};

/// Efficiencies without intervals support no advice; the baseline's is 1 by definition and needs none.
std::vector<RanksThatPay> ranks_that_pay(const Study& study) {
  std::vector<RanksThatPay> out;
  for (const auto& group : study.comparable()) {
    const Cell* best = fastest(study, group);
    if (!best || !best->efficiency.known()) continue;
    const Configuration& options = study.configuration(*best);
    RanksThatPay entry{options.work_label, 0, 0, true, true};
    bool pays = true;  // until the first number of ranks that does not
    for (const Cell* cell : study.cells_of(best->configuration)) {
      if (!cell->efficiency.known()) continue;
      if (cell->ranks != *options.baseline_ranks && !cell->efficiency.interval) entry.has_interval = false;
      entry.measured = cell->ranks;
      if (!pays) continue;
      pays = cell->efficiency.value >= kWorthwhileEfficiency;
      if (pays) entry.ranks = cell->ranks;
      const auto& interval = cell->efficiency.interval;
      // The threshold is inside: whether this number of ranks keeps the efficiency is open.
      if (interval && interval->low < kWorthwhileEfficiency && interval->high > kWorthwhileEfficiency)
        entry.is_clear = false;
    }
    if (entry.has_interval) out.push_back(entry);
  }
  return out;
}

/// "use up to 4; on more the efficiency falls below 0.8"
std::string most_ranks_text(const RanksThatPay& entry) {
  if (!entry.is_clear)
    return fmt::format("repeat the runs; they do not show how many ranks keep the efficiency above {}",
                       kWorthwhileEfficiency);
  if (entry.ranks == entry.measured)
    return fmt::format("use {}, the most that were measured: the efficiency stays above {}", entry.ranks,
                       kWorthwhileEfficiency);
  return fmt::format("use {}; on more the efficiency falls below {}", entry.ranks, kWorthwhileEfficiency);
}

}  // namespace

Findings option_advice(const Study& study) {
  Findings out;
  std::vector<OptionEffect> of_axis;
  for (std::size_t i = 0; i < study.effects.size(); ++i) {
    // Effects are in the order of the axes, so that those of one key are consecutive.
    of_axis.push_back(study.effects[i]);
    if (i + 1 < study.effects.size() && study.effects[i + 1].key == study.effects[i].key) continue;
    out.push_back({option_sentence(of_axis), evidence_of(of_axis), "option." + study.effects[i].key});
    of_axis.clear();
  }
  return out;
}

Finding ranks_advice(const Study& study) {
  const std::vector<RanksThatPay> pay = ranks_that_pay(study);
  if (pay.empty()) return {};
  Evidence evidence{{"efficiency", kWorthwhileEfficiency}};
  std::vector<std::pair<std::string, std::vector<std::string>>> parts;  // what is said, and of which kinds of work
  std::size_t number = 0;
  for (const RanksThatPay& entry : pay) {
    evidence.add({fmt::format("ranks-{}", ++number), entry.ranks});
    const std::string most = most_ranks_text(entry);
    auto said = std::ranges::find(parts, most, [](const auto& part) { return part.first; });
    if (said == parts.end()) said = parts.insert(said, {most, {}});
    said->second.push_back(entry.work);
  }
  std::vector<std::string> texts;
  for (const auto& [text, works] : parts)
    texts.push_back((parts.size() > 1 ? join(works, ", ") + ": " : std::string()) + text);
  return {fmt::format("Ranks: {}.", join(texts, "; ")), evidence, "ranks"};
}

}  // namespace multicard::post
