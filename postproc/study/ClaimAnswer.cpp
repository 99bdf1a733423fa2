#include "postproc/study/ClaimAnswer.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/Percent.hpp"
#include "base/Text.hpp"

namespace multicard::post {

namespace {

/// "−4.0 % [−9.0, +1.0] on one node, …" of the rows that compare sharing with `base`.
Finding sharing_against(const ClaimFile& file, const std::string& base, const std::string& id) {
  std::vector<std::string> texts;
  Finding out;
  for (const IterationChange& change : iteration_changes(file)) {
    if (change.variant != "share" || change.base != base || !change.together.known()) continue;
    texts.push_back(fmt::format("{} on {}", change_text(change.together), change.place));
    out.evidence.add({fmt::format("change_{}", texts.size()),
                      Estimate{change.together.value - 1,
                               change.together.interval ? std::optional<Interval>({change.together.interval->low - 1,
                                                                                   change.together.interval->high - 1})
                                                        : std::nullopt,
                               change.together.basis, change.together.num_values}});
  }
  if (texts.empty()) return {};
  const std::string name =
      base == "one after another" ? "one task after another" : fmt::format("the {} baseline", base);
  out.id = id;
  out.text = fmt::format("Against {} sharing changes the iteration time by {}", name, join(texts, ", "));
  return out;
}

/// Of one kind of work.
Finding simulation_finding(const ClaimFile& file, const std::vector<SimulatedChange>& changes,
                           const std::string& work) {
  const Quartiles equal = quartiles_of(changes, work, &SimulatedChange::over_equal),
                  sequential = quartiles_of(changes, work, &SimulatedChange::over_sequential);
  if (equal.num_values == 0) return {};
  const auto text = [](const Quartiles& one) {
    return fmt::format("{} (quartiles {}, {})", claimed_text(one.median - 1), claimed_text(one.low - 1),
                       claimed_text(one.high - 1));
  };
  const auto reached = std::ranges::count_if(changes, [&](const SimulatedChange& change) {
    return change.work == work && change.over_equal <= 1 + file.rules.iteration_time;
  });
  return {fmt::format("Simulated, an hour of work each {}: the best plan changes the time of both by {} against the "
                      "equal split, where {} "
                      "of {} cells reach {}, and by {} against one task after another",
                      text_of_work(work), text(equal), reached, equal.num_values,
                      claimed_text(file.rules.iteration_time), text(sequential)),
          {{"equal_median", equal.median - 1},
           {"equal_low", equal.low - 1},
           {"equal_high", equal.high - 1},
           {"sequential_median", sequential.median - 1},
           {"sequential_low", sequential.low - 1},
           {"sequential_high", sequential.high - 1},
           {"reached", reached},
           {"cells", equal.num_values}},
          "simulation." + work};
}

Finding memory_finding(const ClaimFile& file) {
  std::vector<std::string> texts;
  Finding out{{}, {}, "memory"};
  for (const MemoryUse& use : memory_uses(file)) {
    if (!use.relative.known()) continue;
    texts.push_back(fmt::format("{} by {} ({}, {}; rate {})", use.variant, change_text(use.relative), use.task,
                                use.device, use.rate_ratio.known() ? change_text(use.rate_ratio) : "not measured"));
    out.evidence.add({fmt::format("change_{}", texts.size()), use.relative.value - 1});
  }
  if (texts.empty()) return {};
  out.text = "Memory utilisation: " + join(texts, "; ") +
             fmt::format("; claimed is {}", claimed_text(file.rules.memory_utilisation));
  return out;
}

Finding communication_finding(const ClaimFile& file) {
  std::vector<std::string> texts;
  Finding out{{}, {}, "communication"};
  for (const CommunicationCost& cost : best_exchanges(file)) {
    texts.push_back(fmt::format("{}, {}: exposed time {}, bytes {}, time inside collectives {}", cost.task, cost.place,
                                change_text(cost.exposed_ratio), change_text(cost.bytes_ratio),
                                change_text(cost.inside_ratio)));
    out.evidence.add({fmt::format("exposed_{}", texts.size()), cost.exposed_ratio.value - 1});
  }
  if (texts.empty()) return {};
  out.text = fmt::format("Communication of the same training, up to the last accepted step: {}; claimed is {}",
                         join(texts, "; "), claimed_text(file.rules.communication));
  return out;
}

Finding parity_finding(const ClaimFile& file) {
  int lossy = 0, accepted = 0, undecided = 0;
  for (const CommunicationCost& cost : communication_costs(file)) {
    if (!cost.is_lossy || std::isnan(cost.worst_loss)) continue;
    ++lossy;
    accepted += cost.parity == Parity::accepted;
    undecided += cost.parity == Parity::within_control;
  }
  if (lossy == 0) return {};
  std::string text = fmt::format("{} of {} lossy exchanges end within {} of the loss of fp32 with every seed", accepted,
                                 lossy, percent(file.rules.loss));
  if (undecided > 0)
    text += fmt::format(
        "; {} more by no more than fp32 differs from itself when it adds in another order, which says "
        "nothing against {}",
        undecided, undecided == 1 ? "it" : "them");
  return {text, {{"accepted", accepted}, {"lossy", lossy}, {"undecided", undecided}}, "parity"};
}

Finding bytes_finding(const ClaimFile& file) {
  int confirmed = 0, all = 0;
  for (const CommunicationCost& cost : communication_costs(file)) {
    if (!cost.link_over_counted.known()) continue;
    ++all;
    confirmed += std::abs(cost.link_over_counted.value - 1) <= file.rules.bytes;
  }
  if (all == 0) return {};
  return {fmt::format("In {} of {} cells the counted bytes are within {} of those that left the node", confirmed, all,
                      percent(file.rules.bytes)),
          {{"confirmed", confirmed}, {"cells", all}},
          "bytes"};
}

}  // namespace

std::string claimed_text(double change) {
  return change_text({1 + change, {}, Basis::none, 1});
}

std::vector<CommunicationCost> best_exchanges(const ClaimFile& file) {
  std::vector<CommunicationCost> out;
  for (const CommunicationCost& cost : communication_costs(file)) {
    if (cost.is_apart || !cost.exposed_ratio.known()) continue;
    if (cost.is_lossy && cost.parity != Parity::accepted) continue;
    const auto found = std::ranges::find_if(
        out, [&](const CommunicationCost& one) { return one.place == cost.place && one.task == cost.task; });
    if (found == out.end())
      out.push_back(cost);
    else
      *found = cost;
  }
  return out;
}

Finding claim_headline(const ClaimFile& file) {
  Finding out = sharing_against(file, "tuned", "claim");
  if (out.empty()) return {"No share was measured against the tuned baseline", {}, "claim"};
  out.evidence.add({"claimed", file.rules.iteration_time});
  out.text += fmt::format("; claimed is {}", claimed_text(file.rules.iteration_time));
  return out;
}

Findings claim_findings(const ClaimFile& file) {
  Findings out{sharing_against(file, "naive", "naive"), sharing_against(file, "one after another", "sequential")};
  const std::vector<SimulatedChange> changes = simulated_changes(file);
  for (const std::string& work : works_of(changes))
    out.push_back(simulation_finding(file, changes, work));
  for (const auto& finding : {memory_finding, communication_finding, parity_finding, bytes_finding})
    out.push_back(finding(file));
  std::erase_if(out, [](const Finding& one) { return one.empty(); });
  return out;
}

}  // namespace multicard::post
