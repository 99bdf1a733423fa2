#include "SweepReport.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "Runs.hpp"
#include "base/Error.hpp"
#include "base/Log.hpp"
#include "base/Text.hpp"
#include "base/Utf8.hpp"
#include "results/ResultsReader.hpp"
#include "tasks/options/RunOptions.hpp"

namespace multicard {

namespace {

std::string length_text(const RunSettings& run) {
  if (run.steps) return fmt::format("{} steps", *run.steps);
  return counted(run.epochs, "epoch");
}

using Cells = std::vector<std::string>;

/// "image_size" of data.image_size, unless another key ends alike.
std::string short_name(const std::string& key, const Variant& variant) {
  const auto last_word = [](const std::string& path) { return path.substr(path.rfind('.') + 1); };
  const auto ends_alike = [&](const auto& pair) { return last_word(pair.first) == last_word(key); };
  return std::count_if(variant.overrides.begin(), variant.overrides.end(), ends_alike) == 1 ? last_word(key) : key;
}

/// What identifies a variant, a cell each. All variants of a sweep have the same keys in the same order.
Cells cells_of(const Variant& variant, bool has_repeats) {
  Cells cells{fmt::format("ranks {}", variant.ranks)};
  if (!variant.case_name.empty()) cells.push_back(variant.case_name);
  for (const auto& [key, value] : variant.overrides)
    cells.push_back(fmt::format("{} {}", short_name(key, variant), value));
  if (has_repeats) cells.push_back(fmt::format("repeat {}", variant.repeat));
  return cells;
}

/// What a run that did not complete ended with.
ExitCode code_of(const RunSummary& summary, const std::string& results) {
  const auto table = summary.tables.find("sweep");
  if (table != summary.tables.end()) {
    const auto codes = table->second.integers.find("exit_code");
    if (codes != table->second.integers.end() && !codes->second.empty())
      if (const auto code = exit_code_of(codes->second.front())) return *code;
  }
  throw DataError(fmt::format("{} is damaged", results),
                  fmt::format("it does not say with which exit code run {} ended", summary.name),
                  "Set run.resume=never to run the sweep again.");
}

}  // namespace

std::vector<RunLabel> aligned_labels(const std::vector<Variant>& variants) {
  const bool has_repeats =
      std::any_of(variants.begin(), variants.end(), [](const Variant& variant) { return variant.repeat > 0; });
  std::vector<Cells> rows;
  std::vector<std::size_t> widths;
  for (const Variant& variant : variants) {
    rows.push_back(cells_of(variant, has_repeats));
    widths.resize(std::max(widths.size(), rows.back().size()));
    for (std::size_t i = 0; i < rows.back().size(); ++i)
      widths[i] = std::max(widths[i], rows.back()[i].size());
  }
  const std::size_t digits = std::to_string(variants.size()).size();
  std::vector<RunLabel> labels;
  for (std::size_t v = 0; v < variants.size(); ++v) {
    RunLabel label;
    label.brief = fmt::format("[{:>{}}/{}] {}", variants[v].execution + 1, digits, variants.size(), variants[v].name);
    label.whole = label.brief;
    for (std::size_t i = 0; i < widths.size(); ++i)
      label.whole += fmt::format("  {:<{}}", i < rows[v].size() ? rows[v][i] : "", widths[i]);
    labels.push_back(std::move(label));
  }
  return labels;
}

std::string closing_line(const RunLabel& label, const ClosedRun& run, std::optional<std::size_t> columns) {
  const std::string left = human_duration(run.seconds_left);
  std::string end, short_end;
  if (run.num_left > 0) {
    end = fmt::format("; {} left, about {}", counted(run.num_left, "run"), left);
    short_end = fmt::format("; {} left", left);
  }
  std::vector<std::string> forms;
  for (const std::string& outcome : run.outcome)
    forms.push_back(fmt::format("{}, {}{}", outcome, human_duration(run.seconds), end));
  forms.push_back(fmt::format("{}, {}{}", run.outcome.back(), human_duration(run.seconds), short_end));
  const std::string on_one = label.whole + "  ", on_two = "\n" + std::string(label.brief.size() + 2, ' ');
  if (!columns) return on_one + forms.front();
  const auto first_within = [&](std::size_t indent) {
    return std::ranges::find_if(forms, [&](const auto& form) { return indent + num_characters(form) < *columns; });
  };
  if (const auto form = first_within(num_characters(on_one)); form != forms.end()) return on_one + *form;
  if (const auto form = first_within(on_two.size() - 1); form != forms.end())
    return label.whole.substr(0, label.whole.find_last_not_of(' ') + 1) + on_two + *form;
  return on_one + forms.front();
}

std::vector<const Variant*> in_order_of_time(const std::vector<Variant>& variants) {
  std::vector<const Variant*> order;
  order.reserve(variants.size());
  for (const Variant& variant : variants)
    order.push_back(&variant);
  std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->execution < b->execution; });
  return order;
}

void log_plan(const std::vector<Variant>& variants) {
  const std::vector<RunLabel> labels = aligned_labels(variants);
  for (const Variant* variant : in_order_of_time(variants)) {
    const auto index = static_cast<std::size_t>(variant - variants.data());
    log_info(fmt::format(
        "{}  {}", labels[index].whole,
        variant->error.empty() ? length_text(read_run_options(variant->deck).run) : "refused: " + variant->error));
  }
}

SweepEnd read_sweep_end(const std::string& results) {
  SweepEnd end;
  const ResultsFile file = ResultsFile::open(results);
  for (const std::string& name : file.run_names()) {
    // Of failures the first gives the code, in the order of the runs' names.
    const RunSummary summary = file.run(name).summary;
    ++end.num_runs;
    if (summary.status == "complete")
      ++end.num_complete;
    else if (end.failed[summary.error].push_back(name); end.code == ExitCode::complete)
      end.code = code_of(summary, results);
  }
  if (end.num_complete > 0) end.code = ExitCode::complete;
  return end;
}

void log_sweep_end(const SweepEnd& end, const std::string& results) {
  log_info(fmt::format("{:<10}{} of {} runs complete", "done", end.num_complete, end.num_runs));
  for (const auto& [reason, names] : end.failed)
    log_info(fmt::format("{:<10}{}: {}", "failed", join(names, ", "), reason));
  log_results(results);
}

}  // namespace multicard
