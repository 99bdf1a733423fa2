#include "postproc/study/ClaimRows.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "base/Quantiles.hpp"
#include "postproc/reduce/NumberText.hpp"

namespace multicard::post {

namespace {

/// What a repeat of a cell has measured; NaN where it has not.
using Measure = std::function<double(const ClaimCell&)>;

Measure value(const char* name) {
  return [name](const ClaimCell& cell) {
    const auto found = cell.values.find(name);
    return found == cell.values.end() ? kNone : found->second;
  };
}

/// The cells of one variant, a repeat each.
using Repeats = std::vector<const ClaimCell*>;

struct Variant {
  const ClaimCell* first;
  Repeats repeats;
};

/// The variants of an experiment, in the order of their first cells.
std::vector<Variant> variants_of(const ClaimFile& file, const std::string& claim) {
  std::vector<Variant> out;
  for (const ClaimCell& cell : file.cells) {
    if (cell.claim != claim) continue;
    const auto is_alike = [&](const Variant& one) {
      return one.first->place == cell.place && one.first->task == cell.task && one.first->variant == cell.variant;
    };
    const auto found = std::ranges::find_if(out, is_alike);
    if (found == out.end())
      out.push_back({&cell, {&cell}});
    else
      found->repeats.push_back(&cell);
  }
  return out;
}

/// The variant of this name at the same place, of the same task; null where there is none.
const Variant* find(const std::vector<Variant>& all, const Variant& like, const std::string& name) {
  const auto found = std::ranges::find_if(all, [&](const Variant& one) {
    return one.first->place == like.first->place && one.first->task == like.first->task && one.first->variant == name;
  });
  return found == all.end() ? nullptr : &*found;
}

/// Medians with Student's interval, of the geometric mean; of the mean where some are not positive, as differences may
/// be.
Estimate estimate_of(const std::vector<double>& values) {
  if (std::ranges::any_of(values, [](double one) { return !(one > 0); })) {
    Estimate out = estimate_of_mean(values, Basis::repeats, 2);
    out.value = median(values);
    return out;
  }
  std::vector<Estimate> repeats;
  repeats.reserve(values.size());
  for (const double one : values)
    repeats.push_back({one, {}, Basis::none, 1});
  return estimate_of_repeats(repeats);
}

Estimate estimate_of(const Repeats& repeats, const Measure& measure) {
  std::vector<double> values;
  for (const ClaimCell* cell : repeats)
    if (const double one = measure(*cell); std::isfinite(one)) values.push_back(one);
  return values.empty() ? Estimate() : estimate_of(values);
}

/// Of two variants in each repeat that both have.
Estimate paired(const Repeats& repeats, const Repeats& base, const Measure& measure,
                const std::function<double(double, double)>& combine) {
  std::vector<double> values;
  for (const ClaimCell* cell : repeats)
    for (const ClaimCell* other : base)
      if (cell->repeat == other->repeat)
        if (const double one = combine(measure(*cell), measure(*other)); std::isfinite(one)) values.push_back(one);
  return values.empty() ? Estimate() : estimate_of(values);
}

Estimate ratios(const Repeats& repeats, const Repeats& base, const Measure& measure) {
  return paired(repeats, base, measure, [](double a, double b) { return b > 0 ? a / b : kNone; });
}

Estimate differences(const Repeats& repeats, const Repeats& base, const Measure& measure) {
  return paired(repeats, base, measure, [](double a, double b) { return a - b; });
}

double utilisation(const ClaimCell& cell) {
  return value("mean_bytes")(cell) / value("capacity_bytes")(cell);
}

double exposed(const ClaimCell& cell) {
  return value("step_s")(cell) - value("null_s")(cell);
}

IterationChange change_of(const Variant& variant, const Variant& base, double claimed) {
  const auto both = [](const ClaimCell& cell) { return std::sqrt(value("image_s")(cell) * value("text_s")(cell)); };
  IterationChange out{variant.first->place,
                      variant.first->variant,
                      base.first->variant,
                      ratios(variant.repeats, base.repeats, value("together_s")),
                      ratios(variant.repeats, base.repeats, value("image_s")),
                      ratios(variant.repeats, base.repeats, value("text_s")),
                      ratios(variant.repeats, base.repeats, both)};
  out.verdict = verdict_of(out.together, claimed);
  return out;
}

/// The largest relative difference of the loss of a repeat, which has a seed of its own, and in `seeds` their number.
double worst_loss(const Repeats& repeats, const Repeats& base, int& seeds) {
  double worst = kNone;
  seeds = 0;
  for (const ClaimCell* cell : repeats)
    for (const ClaimCell* other : base) {
      const double off = std::abs(value("loss")(*cell) / value("loss")(*other) - 1);
      if (cell->repeat != other->repeat || !std::isfinite(off)) continue;
      worst = std::isnan(worst) ? off : std::max(worst, off);
      ++seeds;
    }
  return worst;
}

CommunicationCost cost_of(const Variant& variant, const Variant& base, double claimed) {
  const Repeats& repeats = variant.repeats;
  CommunicationCost out;
  out.place = variant.first->place;
  out.task = variant.first->task;
  out.variant = variant.first->variant;
  out.is_lossy = variant.first->is_lossy;
  out.is_apart = variant.first->is_apart;
  out.is_control = variant.first->is_control;
  out.bytes = estimate_of(repeats, value("counted_bytes"));
  out.link_over_counted = estimate_of(
      repeats, [](const ClaimCell& cell) { return value("link_bytes")(cell) / value("counted_bytes")(cell); });
  out.step = estimate_of(repeats, value("step_s"));
  out.exposed = estimate_of(repeats, exposed);
  out.inside = estimate_of(repeats, value("inside_s"));
  out.exposed_share = estimate_of(repeats, [](const ClaimCell& cell) { return exposed(cell) / value("step_s")(cell); });
  if (&variant != &base) {
    out.bytes_ratio = ratios(repeats, base.repeats, value("counted_bytes"));
    out.exposed_ratio = ratios(repeats, base.repeats, exposed);
    out.inside_ratio = ratios(repeats, base.repeats, value("inside_s"));
    out.verdict = verdict_of(out.exposed_ratio, claimed);
    out.worst_loss = worst_loss(repeats, base.repeats, out.num_seeds);
  }
  return out;
}

/// Where training is chaotic, no exchange can stay nearer to fp32 than fp32 itself does when it adds in another order.
void set_parities(std::vector<CommunicationCost>& costs, double rule) {
  for (CommunicationCost& cost : costs) {
    const bool is_within = std::ranges::any_of(costs, [&](const CommunicationCost& control) {
      return control.is_control && control.place == cost.place && control.task == cost.task &&
             cost.worst_loss <= control.worst_loss;
    });
    cost.parity = cost.worst_loss <= rule ? Parity::accepted : is_within ? Parity::within_control : Parity::refused;
  }
}

}  // namespace

std::vector<IterationTime> iteration_times(const ClaimFile& file) {
  std::vector<IterationTime> out;
  for (const Variant& variant : variants_of(file, "E1"))
    out.push_back({variant.first->place, variant.first->variant, estimate_of(variant.repeats, value("together_s")),
                   estimate_of(variant.repeats, value("image_s")), estimate_of(variant.repeats, value("text_s"))});
  return out;
}

std::vector<IterationChange> iteration_changes(const ClaimFile& file) {
  const std::vector<Variant> all = variants_of(file, "E1");
  const std::set<std::string> kBaselines{"naive", "tuned", "one after another"};
  std::vector<IterationChange> out;
  for (const Variant& variant : all) {
    const std::string& name = variant.first->variant;
    if (const Variant* naive = find(all, variant, "naive"); naive && !kBaselines.contains(name) && name != "share")
      out.push_back(change_of(variant, *naive, file.rules.iteration_time));
    if (name != "share") continue;
    for (const char* base : {"tuned", "naive", "one after another"})
      if (const Variant* found = find(all, variant, base))
        out.push_back(change_of(variant, *found, file.rules.iteration_time));
  }
  return out;
}

std::vector<SimulatedChange> simulated_changes(const ClaimFile& file) {
  std::vector<SimulatedChange> out;
  for (const Variant& variant : variants_of(file, "simulation")) {
    const ClaimCell& cell = *variant.first;
    const double seconds = value("together_s")(cell);
    out.push_back({cell.task, cell.place, cell.variant, seconds, seconds / value("equal_s")(cell),
                   seconds / value("sequential_s")(cell)});
  }
  return out;
}

std::string text_of_work(const std::string& work) {
  return work == "equal split" ? "at its rate in the equal split" : "at its " + work;
}

std::vector<std::string> works_of(const std::vector<SimulatedChange>& changes) {
  std::vector<std::string> out;
  for (const SimulatedChange& change : changes)
    if (std::ranges::find(out, change.work) == out.end()) out.push_back(change.work);
  return out;
}

Quartiles quartiles_of(const std::vector<SimulatedChange>& changes, const std::string& work,
                       double SimulatedChange::*ratio) {
  std::vector<double> values;
  for (const SimulatedChange& change : changes)
    if (change.work == work && std::isfinite(change.*ratio)) values.push_back(change.*ratio);
  if (values.empty()) return {};
  return {percentile(values, 0.25), median(values), percentile(values, 0.75), static_cast<int>(values.size())};
}

std::vector<MemoryUse> memory_uses(const ClaimFile& file) {
  const std::vector<Variant> all = variants_of(file, "E2");
  std::vector<MemoryUse> out;
  for (const Variant& variant : all) {
    MemoryUse use;
    use.device = variant.first->place;
    use.task = variant.first->task;
    use.variant = variant.first->variant;
    use.base = variant.first->base;
    use.utilisation = estimate_of(variant.repeats, utilisation);
    use.rate = estimate_of(variant.repeats, value("rate_per_s"));
    if (const Variant* base = find(all, variant, use.base)) {
      use.points = differences(variant.repeats, base->repeats, utilisation);
      use.relative = ratios(variant.repeats, base->repeats, utilisation);
      use.rate_ratio = ratios(variant.repeats, base->repeats, value("rate_per_s"));
      use.verdict = verdict_of(use.relative, file.rules.memory_utilisation);
    }
    out.push_back(std::move(use));
  }
  return out;
}

std::vector<CommunicationCost> communication_costs(const ClaimFile& file) {
  const std::vector<Variant> all = variants_of(file, "E3");
  std::vector<CommunicationCost> out;
  for (const Variant& variant : all) {
    const auto base = std::ranges::find_if(all, [&](const Variant& one) {
      return one.first->place == variant.first->place && one.first->task == variant.first->task;
    });
    out.push_back(cost_of(variant, *base, file.rules.communication));
  }
  set_parities(out, file.rules.loss);
  return out;
}

}  // namespace multicard::post
