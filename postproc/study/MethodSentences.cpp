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

std::string names_of(const Cells& cells) {
  std::vector<std::string> names;
  for (const MethodCell* cell : cells)
    names.push_back(cell->label);
  return join(names, ", ");
}

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

/// "1.06 times the rate of qlora for 1.44 times the memory"
std::string trade_text(const MethodCell& more, const MethodCell& less) {
  return fmt::format("{} times the rate of {} for {} times the memory",
                     factor(more.cell->rate.value / less.cell->rate.value), less.label,
                     factor(more.memory->peak / less.memory->peak));
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

/// qat and lora-qat, whose scores are of the rounded model and not comparable.
bool rounds(const MethodCell& cell) {
  return cell.method.ends_with("qat");
}

/// The best of the cells by held-out score, without those of rounded models; or null.
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
  return best;
}

/// "From 3.59 GB full fits too; lora stays the fastest."
std::string threshold_text(const Study& study, const MethodCell& added, const MethodCell& fastest) {
  const std::string from = fmt::format(" From {}", human_bytes(added.memory->peak));
  if (!significantly_different(added.cell->rate, fastest.cell->rate))
    return fmt::format("{} {} fits too: {} in rate with {}.", from, added.label,
                       no_difference(added.cell->rate, fastest.cell->rate), fastest.label);
  if (is_measurably_faster(added, fastest))
    return fmt::format("{} {} is the fastest that fits: {}, {}.", from, added.label, rate_text(study, added),
                       trade_text(added, fastest));
  return fmt::format("{} {} fits too, {} of the rate of {}, which stays the fastest.", from, added.label,
                     percent(added.cell->rate.value / fastest.cell->rate.value), fastest.label);
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

/// Walks up the peaks: from the least memory on, which methods fit in addition and whether one of them is faster.
std::string limits_of(const Study& study, const Cells& cells) {
  const MethodCell& least = *cells.front();
  std::string out =
      fmt::format("{} on {}, by the {} memory that a rank may take: under {} none of {} fits. From there {} does: {}.",
                  capitalised(text_of(least.objective)), counted(least.cell->ranks, "rank"),
                  least.memory->on_device ? "GPU" : "host", human_bytes(least.memory->peak), names_of(cells),
                  least.label, rate_text(study, least));
  // The fastest that fits so far.
  const MethodCell* fastest = &least;
  for (std::size_t i = 1; i < cells.size(); ++i) {
    out += threshold_text(study, *cells[i], *fastest);
    if (is_measurably_faster(*cells[i], *fastest)) fastest = cells[i];
  }
  if (const MethodCell* best = best_score(cells))
    out += fmt::format(" With the best {} of them is {}, from {}.", score_text(*best), best->label,
                       human_bytes(best->memory->peak));
  return out;
}

/// In one sentence: which of these cells needs least, and which learns best.
std::string shortly(const Cells& cells) {
  const MethodCell& least = *cells.front();
  const MethodCell* const best = best_score(cells);
  std::string out =
      fmt::format("On {} {} needs the least {} memory of the methods for {} ({})", counted(least.cell->ranks, "rank"),
                  least.label, least.memory->on_device ? "GPU" : "host",
                  least.objective == Objective::preference ? "preferences" : "next-token prediction",
                  human_bytes(least.memory->peak));
  if (best == &least)
    out += fmt::format(" and learns best ({})", score_text(least));
  else if (best)
    out +=
        fmt::format("; {} learns best ({}), with {}", best->label, score_text(*best), human_bytes(best->memory->peak));
  return out + ".";
}

}  // namespace

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
        {"Methods of the two objectives learn different things from different rows (a pair has two "
         "sequences), so that neither their rates nor their scores are compared with each other.",
         {},
         "objectives"});
  if (std::ranges::any_of(all, rounds))
    out.push_back(
        {"qat and lora-qat prepare a model for weights in int4: their held-out loss is that of the rounded "
         "model, and memory or speed is no reason to choose them.",
         {},
         "rounded"});
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
