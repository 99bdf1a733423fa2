#include "postproc/Advice.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/Labels.hpp"
#include "postproc/OptionWorth.hpp"
#include "postproc/Standings.hpp"

namespace multicard::post {

namespace {

constexpr double kEfficient = 0.8;
constexpr double kIndifferent = 0.03;  ///< an interval within so much of 1 says that the option hardly matters

/// "2.31 times the rate of fp32 (95 % interval …)"
std::string factor_text(const OptionWorth& worth) {
  return fmt::format("{} times the rate of {}{}", alike(worth.ratio.value, worth.ratio.value, 3),
                     setting_label(worth.key, worth.baseline), worth.interval_text());
}

/// Where the worth depends on the rest.
std::string range_sentence(const OptionWorth& worth) {
  constexpr double kWorthMentioning = 1.1;
  if (worth.num_cells < 2 || worth.most / worth.least < kWorthMentioning) return {};
  return fmt::format(" It depends: {} times at {}, {} at {}.", alike(worth.least, worth.least, 3), worth.least_at,
                     alike(worth.most, worth.most, 3), worth.most_at);
}

std::string unfinished_sentence(const OptionWorth& worth) {
  if (worth.num_unfinished == 0) return {};
  return fmt::format(" {} with it did not complete.", counted_pairs(worth.num_unfinished, "cells"));
}

/// Values whose intervals overlap with the best's: the data do not choose between them.
std::string not_told_apart(const std::vector<OptionWorth>& worths, const OptionWorth& best) {
  std::vector<std::string> names;
  for (const OptionWorth& worth : worths)
    if (&worth != &best && worth.ratio.interval && worth.ratio.interval->low > 1 && !differ(worth.ratio, best.ratio))
      names.push_back(fmt::format("{} ({})", setting_label(worth.key, worth.value),
                                  alike(worth.ratio.value, worth.ratio.value, 3)));
  return names.empty() ? std::string() : fmt::format(" Not told apart from it: {}.", join(names, ", "));
}

bool hardly_matters(const OptionWorth& worth) {
  return worth.ratio.interval && worth.ratio.interval->low > 1 - kIndifferent &&
         worth.ratio.interval->high < 1 + kIndifferent;
}

std::string each(const std::vector<OptionWorth>& worths) {
  std::vector<std::string> parts;
  for (const OptionWorth& worth : worths)
    parts.push_back(worth.ratio.known()
                        ? fmt::format("{}: {}{}", setting_label(worth.key, worth.value),
                                      alike(worth.ratio.value, worth.ratio.value, 3), worth.interval_text())
                        : fmt::format("{}: did not complete", setting_label(worth.key, worth.value)));
  return join(parts, "; ");
}

/// About one option: all its values against the baseline.
std::string option_sentence(const std::vector<OptionWorth>& worths) {
  const std::string name = capitalised(key_label(worths.front().key));
  const std::string plain = setting_label(worths.front().key, worths.front().baseline);
  const OptionWorth* best = nullptr;
  for (const OptionWorth& worth : worths)
    if (worth.ratio.interval && worth.ratio.interval->low > 1 && (!best || worth.ratio.value > best->ratio.value))
      best = &worth;
  if (best)
    return fmt::format("{}: use {}, {}.{}{}{}", name, setting_label(best->key, best->value), factor_text(*best),
                       not_told_apart(worths, *best), range_sentence(*best), unfinished_sentence(*best));
  const auto slower = [](const OptionWorth& worth) { return worth.ratio.interval && worth.ratio.interval->high < 1; };
  if (std::all_of(worths.begin(), worths.end(), slower))
    return fmt::format("{}: stay with {}; against it, {}.", name, plain, each(worths));
  if (std::all_of(worths.begin(), worths.end(), hardly_matters))
    return fmt::format("{}: it hardly matters; against {}, {}.", name, plain, each(worths));
  return fmt::format("{}: the data do not support a choice; against {}, {}.", name, plain, each(worths));
}

/// The best options on one kind of work, and up to how many ranks they keep an efficiency of kEfficient.
struct RanksThatPay {
  std::string work;
  int ranks = 0, measured = 0;
  bool is_clear = true;  ///< no interval holds kEfficient
};

std::vector<RanksThatPay> ranks_that_pay(const Study& study) {
  std::vector<RanksThatPay> out;
  for (const auto& group : study.comparable()) {
    const Cell* best = fastest(study, group);
    if (!best || !best->efficiency.known()) continue;
    RanksThatPay entry{study.configurations[best->configuration].work_label, 0, 0, true};
    for (const Cell* cell : study.cells_of(best->configuration)) {
      if (!cell->efficiency.known()) continue;
      entry.measured = cell->ranks;
      if (cell->efficiency.value >= kEfficient) entry.ranks = cell->ranks;
      const auto& interval = cell->efficiency.interval;
      if (interval && interval->low < kEfficient && interval->high > kEfficient) entry.is_clear = false;
    }
    out.push_back(entry);
  }
  return out;
}

/// "Ranks: with the fastest options, up to 4 ranks keep an efficiency of 0.8 (all measured)."
std::string ranks_sentence(const Study& study) {
  const std::vector<RanksThatPay> pay = ranks_that_pay(study);
  if (pay.empty()) return {};
  std::vector<std::string> parts;
  for (const RanksThatPay& entry : pay) {
    const std::string where = entry.work.empty() ? std::string() : entry.work + ": ";
    parts.push_back(fmt::format("{}{}{}{}", where, counted(entry.ranks, "rank"),
                                entry.ranks == entry.measured ? " (the most measured)" : "",
                                entry.is_clear ? "" : ", not sure: an interval reaches beyond it"));
  }
  return fmt::format("Ranks: the most on which the fastest options keep an efficiency of {} — {}.", kEfficient,
                     join(parts, "; "));
}

}  // namespace

std::vector<std::string> advice(const Study& study) {
  std::vector<std::string> out;
  std::vector<OptionWorth> of_axis;
  const std::vector<OptionWorth> all = option_worths(study);
  for (std::size_t i = 0; i < all.size(); ++i) {
    of_axis.push_back(all[i]);
    if (i + 1 < all.size() && all[i + 1].key == all[i].key) continue;
    out.push_back(option_sentence(of_axis));
    of_axis.clear();
  }
  if (const std::string sentence = ranks_sentence(study); !sentence.empty()) out.push_back(sentence);
  return out;
}

}  // namespace multicard::post
