#include "SweepReport.hpp"

#include <algorithm>

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

SweepEnd read_sweep_end(const std::string& results) {
  SweepEnd end;
  const ResultsFile file = ResultsFile::open(results);
  for (const std::string& name : file.run_names()) {
    const RunSummary summary = file.run(name).summary;
    ++end.num_runs;
    if (summary.status == "complete")
      ++end.num_complete;
    else if (end.failed[summary.error].push_back(name); end.code == ExitCode::complete)
      end.code = static_cast<ExitCode>(summary.tables.at("sweep").integers.at("exit_code").front());
  }
  if (end.num_complete > 0) end.code = ExitCode::complete;
  return end;
}

void log_sweep_end(const SweepEnd& end, const std::string& results) {
  log_info(fmt::format("{:<10}{} of {} runs complete", "done", end.num_complete, end.num_runs));
  for (const auto& [reason, names] : end.failed)
    log_info(fmt::format("{:<10}{}: {}", "failed", join(names, ", "), reason));
  log_info(fmt::format("{:<10}{}        report: multicard-post {}", "results", results, results));
}

}  // namespace multicard
