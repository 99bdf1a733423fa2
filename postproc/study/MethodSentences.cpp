// What a comparison of tuning methods says in words.

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/Labels.hpp"
#include "postproc/study/Methods.hpp"
#include "results/DeckText.hpp"

namespace multicard::post {

namespace {

using Cells = std::vector<const MethodCell*>;

/// What must be equal, by deck path and name.
constexpr std::array<std::pair<const char*, const char*>, 10> kEqual{
    {{"run.global_batch", "rows a step"},
     {"run.batch_per_rank", "rows a rank and step"},
     {"run.micro_batch", "rows at a time"},
     {"data.max_length", "longest row"},
     {"data.packing", "packing"},
     {"model.dtype", "type of frozen weights"},
     {"model.trainable_dtype", "type of trained weights"},
     {"precision", "precision"},
     {"model.activation_checkpointing", "activation checkpointing"},
     {"optimizer.name", "optimizer"}}};

std::string rate_text(const Study& study, const MethodCell& cell) {
  return fmt::format("{} {}", with_interval(cell.cell->rate), study.rate_unit());
}

/// 1.00 rather than 1.
std::string factor(double value) {
  return alike(value, value, 3);
}

/// Intervals that do not overlap.
bool is_measurably_faster(const MethodCell& a, const MethodCell& b) {
  return a.cell->rate.value > b.cell->rate.value && significantly_different(a.cell->rate, b.cell->rate);
}

/// Each method has one of both, by its objective.
std::string score_text(const MethodCell& cell) {
  if (cell.preference_accuracy.known())
    return fmt::format("preference accuracy {}", with_interval(cell.preference_accuracy, 3));
  if (cell.held_out_loss.known()) return fmt::format("held-out loss {}", with_interval(cell.held_out_loss));
  return {};
}

/// The cells of one objective and number of ranks that completed with a known peak, by peak.
Cells by_peak(const std::vector<MethodCell>& all, Objective objective, int ranks) {
  Cells cells;
  for (const MethodCell& cell : all)
    if (cell.objective == objective && cell.cell->ranks == ranks && cell.cell->counts() && cell.memory)
      cells.push_back(&cell);
  std::ranges::stable_sort(cells,
                           [](const MethodCell* a, const MethodCell* b) { return a->memory->peak < b->memory->peak; });
  return cells;
}

/// by_peak() on the most ranks on which two compare; where none do, on the fewest.
Cells on_most_ranks(const Study& study, const std::vector<MethodCell>& all, Objective objective) {
  Cells last;
  for (auto ranks = study.rank_counts.rbegin(); ranks != study.rank_counts.rend(); ++ranks) {
    Cells cells = by_peak(all, objective, *ranks);
    if (cells.size() > 1) return cells;
    if (!cells.empty()) last = std::move(cells);
  }
  return last;
}

/// qat and lora-qat, whose scores are of the rounded model and not comparable.
bool rounds(const MethodCell& cell) {
  return cell.method.ends_with("qat");
}

/// The best of the cells by held-out score, without those of rounded models; null where another one is as good, or its
/// interval overlaps.
const MethodCell* best_score(const Cells& cells) {
  const MethodCell* best = nullptr;
  for (const MethodCell* cell : cells) {
    const Estimate& loss = cell->held_out_loss;
    const Estimate& accuracy = cell->preference_accuracy;
    if (rounds(*cell) || (!loss.known() && !accuracy.known())) continue;
    const bool is_better = !best || (accuracy.known() ? accuracy.value > best->preference_accuracy.value
                                                      : loss.value < best->held_out_loss.value);
    if (is_better) best = cell;
  }
  const auto is_as_good = [&](const MethodCell* other) {
    if (other == best || rounds(*other)) return false;
    const Estimate &mine = best->preference_accuracy, &its = other->preference_accuracy;
    if (mine.interval && its.interval) return !significantly_different(mine, its);
    if (its.known()) return its.value == mine.value;
    const Estimate &my_loss = best->held_out_loss, &its_loss = other->held_out_loss;
    if (my_loss.interval && its_loss.interval) return !significantly_different(my_loss, its_loss);
    return its_loss.value == my_loss.value;
  };
  return best && std::ranges::none_of(cells, is_as_good) ? best : nullptr;
}

/// What a sentence of these cells may state.
Evidence evidence_of(const Cells& cells) {
  Evidence evidence;
  for (const MethodCell* cell : cells) {
    evidence.add({{"ranks", cell->cell->ranks},
                  {cell->label + ".rate", cell->cell->rate},
                  {cell->label + ".peak_bytes", cell->memory->peak}});
    if (cell->held_out_loss.known()) evidence.add({cell->label + ".held_out_loss", cell->held_out_loss});
    if (cell->preference_accuracy.known())
      evidence.add({cell->label + ".preference_accuracy", cell->preference_accuracy});
    for (const MethodCell* other : cells) {
      const std::string pair = cell->label + "/" + other->label;
      evidence.add({{pair + ".rate", cell->cell->rate.value / other->cell->rate.value},
                    {pair + ".peak_bytes", cell->memory->peak / other->memory->peak}});
    }
  }
  return evidence;
}

/// The one that needs the least, what is measurably faster with more, and what learns best.
std::string limits_of(const Study& study, const Cells& cells) {
  const MethodCell& least = *cells.front();
  const MethodCell* fastest = &least;
  for (const MethodCell* cell : cells)
    if (is_measurably_faster(*cell, *fastest)) fastest = cell;
  std::string out =
      fmt::format("{} on {}: {} needs the least {} memory, {}, for {}", capitalised(text_of(least.objective)),
                  counted(least.cell->ranks, "rank"), least.label, least.memory->on_device ? "GPU" : "host",
                  human_bytes(least.memory->peak), rate_text(study, least));
  if (fastest != &least)
    out += fmt::format("; {} is measurably faster, {} times the rate for {} times the memory", fastest->label,
                       factor(fastest->cell->rate.value / least.cell->rate.value),
                       factor(fastest->memory->peak / least.memory->peak));
  else if (cells.size() > 1)
    out += "; none that needs more is measurably faster";
  if (const MethodCell* best = best_score(cells))
    out += fmt::format("; best {}: {}, from {}", score_text(*best), best->label, human_bytes(best->memory->peak));
  return out + ".";
}

/// Those whose memory is, as it is written, that of the first one.
std::string labels_of_least(const Cells& cells) {
  const std::string least = human_bytes(cells.front()->memory->peak);
  std::vector<std::string> labels;
  for (const MethodCell* cell : cells)
    if (human_bytes(cell->memory->peak) == least) labels.push_back(cell->label);
  return join(labels, ", ");
}

/// In one sentence: which of these cells needs least, and which learns best.
std::string shortly(const Cells& cells) {
  const MethodCell& least = *cells.front();
  const MethodCell* const best = best_score(cells);
  const std::string labels = labels_of_least(cells), bytes = human_bytes(least.memory->peak);
  std::string out = fmt::format("Least {} memory: {}, {}", least.memory->on_device ? "GPU" : "host", labels, bytes);
  if (best) {
    const bool has_interval = best->held_out_loss.interval || best->preference_accuracy.interval;
    out +=
        fmt::format("; best {}{}: {}{}", score_text(*best), has_interval ? "" : " (one run each)", best->label,
                    human_bytes(best->memory->peak) == bytes ? std::string() : ", " + human_bytes(best->memory->peak));
  }
  return out + fmt::format(" ({} on {}).", text_of(least.objective), counted(least.cell->ranks, "rank"));
}

}  // namespace

std::vector<MethodLimit> method_limits(const Study& study, const std::vector<MethodCell>& all) {
  std::vector<MethodLimit> out;
  for (const Objective objective : {Objective::next_token, Objective::preference}) {
    const Cells cells = on_most_ranks(study, all, objective);
    const auto first = out.size();
    for (const MethodCell* cell : cells) {
      const auto is_slower = [&](const MethodLimit& less) { return is_measurably_faster(*less.cell, *cell); };
      const bool is_dominated = std::any_of(out.begin() + static_cast<std::ptrdiff_t>(first), out.end(), is_slower);
      out.push_back({cell, is_dominated, best_score(cells) == cell});
    }
  }
  return out;
}

Finding best_methods_finding(const Study& study) {
  const std::vector<MethodCell> all = method_cells(study);
  for (const Objective objective : {Objective::next_token, Objective::preference})
    for (auto ranks = study.rank_counts.rbegin(); ranks != study.rank_counts.rend(); ++ranks)
      if (const Cells cells = by_peak(all, objective, *ranks); cells.size() > 1)
        return {shortly(cells), evidence_of(cells),
                fmt::format("methods-best{}-{}", objective == Objective::preference ? "-preference" : "", *ranks)};
  return {};
}

Findings memory_limit_findings(const Study& study) {
  const std::vector<MethodCell> all = method_cells(study);
  Findings out;
  std::set<Objective> objectives;
  for (const Objective objective : {Objective::next_token, Objective::preference})
    for (const int ranks : study.rank_counts) {
      const Cells cells = by_peak(all, objective, ranks);
      if (cells.empty()) continue;
      objectives.insert(objective);
      out.push_back({limits_of(study, cells), evidence_of(cells),
                     fmt::format("methods{}-{}", objective == Objective::preference ? "-preference" : "", ranks)});
    }
  if (objectives.size() > 1)
    out.push_back(
        {"Rates and scores of the two objectives do not compare: a pair has two sequences.", {}, "objectives"});
  if (std::ranges::any_of(all, rounds))
    out.push_back({"The held-out loss of qat and lora-qat is that of the model rounded to int4.", {}, "rounded"});
  return out;
}

std::vector<std::string> fairness_sentences(const Study& study) {
  std::vector<std::string> out, equal;
  for (const auto& [path, name] : kEqual) {
    std::map<std::string, std::vector<std::string>> methods;  // by value
    for (const Cell& cell : study.cells)
      for (const std::size_t run : cell.measured)
        add_once(methods[deck_value(study.runs[run].deck, path)], study.configuration(cell).full_label());
    if (methods.size() == 1) {
      if (const std::string& value = methods.begin()->first; !value.empty())
        equal.push_back(fmt::format("{} {}", name, value));
      continue;
    }
    std::vector<std::string> parts;
    parts.reserve(methods.size());
    for (const auto& [value, of_value] : methods)
      parts.push_back(fmt::format("{} for {}", value.empty() ? "not set" : value, join(of_value, ", ")));
    out.push_back(fmt::format("Warning: not equal, so not a fair comparison: {} is {}.", name, join(parts, "; ")));
  }
  if (!equal.empty()) out.push_back(fmt::format("Equal in all runs: {}.", join(equal, ", ")));
  return out;
}

}  // namespace multicard::post
