#include "SweepReport.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/Log.hpp"
#include "base/Text.hpp"
#include "config/RunOptions.hpp"
#include "results/ResultsReader.hpp"

namespace multicard {

namespace {

std::string length_text(const RunSettings& run) {
  if (run.steps) return fmt::format("{} steps", *run.steps);
  return fmt::format("{} epoch{}", run.epochs, run.epochs == 1 ? "" : "s");
}

}  // namespace

std::string describe(const Variant& variant) {
  std::string text = fmt::format("ranks {}", variant.ranks);
  if (!variant.case_name.empty()) text += "  " + variant.case_name;
  for (const auto& [key, value] : variant.overrides)
    text += fmt::format("  {} {}", key, value);
  if (variant.repeat > 0) text += fmt::format("  repeat {}", variant.repeat);
  return text;
}

std::vector<const Variant*> in_order_of_time(const std::vector<Variant>& variants) {
  std::vector<const Variant*> order;
  for (const Variant& variant : variants)
    order.push_back(&variant);
  std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->execution < b->execution; });
  return order;
}

void log_plan(const std::vector<Variant>& variants) {
  for (const Variant* variant : in_order_of_time(variants))
    log_info(fmt::format(
        "[{}/{}] {}  {}  {}", variant->execution + 1, variants.size(), variant->name, describe(*variant),
        variant->error.empty() ? length_text(read_run_options(variant->deck).run) : "refused: " + variant->error));
}

void log_sweep_end(const std::string& results) {
  std::size_t num_complete = 0, num_runs = 0;
  std::map<std::string, std::vector<std::string>> failed;  // by reason
  const ResultsFile file = ResultsFile::open(results);
  for (const std::string& name : file.run_names()) {
    const RunSummary summary = file.run(name).summary;
    ++num_runs;
    if (summary.status == "complete")
      ++num_complete;
    else
      failed[summary.error].push_back(name);
  }
  log_info(fmt::format("{:<10}{} of {} runs complete", "done", num_complete, num_runs));
  for (const auto& [reason, names] : failed)
    log_info(fmt::format("{:<10}{}: {}", "failed", join(names, ", "), reason));
  log_info(fmt::format("{:<10}{}        report: multicard-post {}", "results", results, results));
}

}  // namespace multicard
