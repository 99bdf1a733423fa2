// What a comparison must not be taken for, and what it leaves out.

#include <algorithm>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/study/Comparison.hpp"
#include "postproc/study/Labels.hpp"

namespace multicard::post {

namespace {

using Cells = std::vector<const ComparedCell*>;

std::string listed(std::vector<std::string> names) {
  constexpr std::size_t kMost = 4;
  if (names.size() > kMost) {
    names.resize(kMost);
    names.emplace_back("…");
  }
  return join(names, "; ");
}

/// "data.image_size 32 → 64"
std::string change_of(const ComparedSetting& setting) {
  return fmt::format("{} {} → {}", setting.key, setting.a.empty() ? "not set" : setting.a,
                     setting.b.empty() ? "not set" : setting.b);
}

/// Ratios of rates do not say which of two kinds of work is better.
Finding work_of(const Comparison& comparison) {
  std::vector<std::string> parts;
  for (const ComparedSetting& setting : comparison.settings)
    if (setting.effect == "work" && setting.num_cells > 0) parts.push_back(change_of(setting));
  if (parts.empty()) return {};
  return {"A and B do different work, so that the ratio says what the difference costs, not which is better: " +
              join(parts, ", ") + ".",
          {},
          "work",
          Severity::notice};
}

/// Nor do scores on different samples.
Finding evaluated_data_of(const Comparison& comparison) {
  std::vector<std::string> parts;
  for (const ComparedEvaluation& evaluation : comparison.evaluations)
    for (const ComparedSetting& setting : evaluation.data)
      add_once(parts, change_of(setting));
  if (parts.empty()) return {};
  return {"A and B were evaluated on different data, so that their scores do not compare: " + join(parts, ", ") + ".",
          {},
          "evaluated_data",
          Severity::notice};
}

/// What the intervals leave out.
Finding basis_of(const Cells& cells) {
  const auto over_steps =
      std::ranges::count_if(cells, [](const ComparedCell* cell) { return cell->rate_ratio.basis == Basis::steps; });
  const auto without = std::ranges::count_if(
      cells, [](const ComparedCell* cell) { return cell->rate_ratio.known() && !cell->rate_ratio.interval; });
  std::vector<std::string> parts;
  if (over_steps > 0)
    parts.emplace_back(
        "Intervals are over the steps of single runs and leave out how much repeated runs differ: small differences "
        "may not repeat. Repeat A and B (repeat: 3 in a sweep) to know.");
  if (without > 0)
    parts.push_back(fmt::format("{} of {} {} no interval: fewer than 6 measured steps.", without,
                                counted(static_cast<long>(cells.size()), "configuration"),
                                without == 1 ? "has" : "have"));
  if (parts.empty()) return {};
  return {join(parts, " "), {{"over_steps", over_steps}, {"without_interval", without}}, "intervals", Severity::notice};
}

Finding same_of(const Cells& cells) {
  const auto same = std::ranges::count_if(cells, [](const ComparedCell* cell) { return cell->is_same_run; });
  if (same == 0) return {};
  return {fmt::format("{} of {} {} the same times to the last digit: A and B hold the same runs.", same,
                      counted(static_cast<long>(cells.size()), "configuration"), same == 1 ? "has" : "have"),
          {{"same", same}},
          "same_runs",
          Severity::notice};
}

Finding unmatched_of(const Comparison& comparison) {
  const std::size_t a = comparison.only_a.size(), b = comparison.only_b.size();
  std::vector<std::string> unmeasured;
  for (const ComparedCell& cell : comparison.cells)
    if (!cell.is_measured())
      unmeasured.push_back(
          fmt::format("{} (A {}, B {})", cell.label, text_of(cell.cell_a->status), text_of(cell.cell_b->status)));
  if (a + b == 0 && unmeasured.empty()) return {};
  std::vector<std::string> parts;
  if (a > 0) parts.push_back(fmt::format("{} only in A", a));
  if (b > 0) parts.push_back(fmt::format("{} only in B", b));
  if (!unmeasured.empty()) parts.push_back("without measured steps in one of both: " + listed(unmeasured));
  return {"Not compared: " + join(parts, ", ") + ".",
          {{"only_a", a}, {"only_b", b}, {"unmeasured", unmeasured.size()}},
          "not_compared",
          Severity::notice};
}

}  // namespace

Findings different_work_findings(const Comparison& comparison) {
  Findings out{work_of(comparison), evaluated_data_of(comparison)};
  std::erase_if(out, [](const Finding& finding) { return finding.empty(); });
  return out;
}

Findings left_out_findings(const Comparison& comparison, const Cells& measured) {
  Findings out{same_of(measured), basis_of(measured), unmatched_of(comparison)};
  std::erase_if(out, [](const Finding& finding) { return finding.empty(); });
  return out;
}

}  // namespace multicard::post
