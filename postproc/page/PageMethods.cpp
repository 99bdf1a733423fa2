#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/page/Html.hpp"
#include "postproc/page/PageTables.hpp"
#include "postproc/page/StudyColumns.hpp"
#include "postproc/reduce/NumberText.hpp"

namespace multicard::post {

namespace {

/// "on 2 ranks", or of which objective on how many where they differ.
std::string ranks_of(const std::vector<MethodLimit>& limits) {
  const auto on = [](const MethodLimit& limit) { return "on " + counted(limit.cell->cell->ranks, "rank"); };
  const MethodLimit &first = limits.front(), &last = limits.back();  // of the first and of the last objective
  if (first.cell->cell->ranks == last.cell->cell->ranks) return on(first);
  return fmt::format("{} {}, {} {}", text_of(first.cell->objective), on(first), text_of(last.cell->objective),
                     on(last));
}

}  // namespace

std::string method_limits_html(const Study& study) {
  const std::vector<MethodCell> cells = method_cells(study);
  const std::vector<MethodLimit> limits = method_limits(study, cells);
  if (limits.empty()) return {};
  const auto of = [](auto MethodCell::*member) {
    return [member](const MethodLimit& limit) { return limit.cell->*member; };
  };
  const auto score = [](const MethodLimit& limit) {
    const bool is_preference = limit.cell->objective == Objective::preference;
    return HtmlCell(with_interval(is_preference ? limit.cell->preference_accuracy : limit.cell->held_out_loss, 3) +
                        (limit.learns_best ? " (best)" : ""),
                    is_preference ? limit.cell->preference_accuracy.value : limit.cell->held_out_loss.value);
  };
  const Columns<MethodLimit> columns{
      {"method", of(&MethodCell::label)},
      {"learns", [](const MethodLimit& limit) { return text_of(limit.cell->objective); }},
      {"peak memory", [](const MethodLimit& limit) { return limit.cell->memory->peak; }, Format::bytes},
      {study.rate_unit(), [](const MethodLimit& limit) { return limit.cell->cell->rate; }},
      {"loss, or preference accuracy", score}};
  HtmlTable out =
      html_table("methods-limits",
                 fmt::format("By peak memory, {}. Faint: another one needs no more memory and is measurably faster.",
                             ranks_of(limits)),
                 columns, limits);
  for (std::size_t i = 0; i < limits.size(); ++i)
    if (limits[i].is_dominated) out.faint_rows.insert(i);
  return table(out);
}

std::string methods_html(const Study& study) {
  if (!compares_methods(study)) return {};
  std::vector<MethodCell> cells = method_cells(study);
  HtmlTable methods =
      html_table("methods", "Tuning methods: time, traffic a step and rank, and what was reached on the held-out set.",
                 method_columns(study), cells);
  fold_constant_columns(methods, {"host to device", "device to device", "held out"});
  std::erase_if(cells, [](const MethodCell& cell) { return !cell.memory; });
  const HtmlTable memory = html_table(
      "methods-memory",
      "Peak memory of the rank that needs most, by kind. The peak is measured (of a CPU rank its resident memory, of a "
      "GPU what tensors took); weights to reference copy are the bytes of the tensors; the rest is the difference: "
      "activations, batches, workspaces, on a CPU also the program and its libraries. Activations as predicted before "
      "the first step.",
      method_memory_columns(), cells);
  return subheading("Tuning methods") + list(fairness_sentences(study)) + table(methods) +
         (memory.rows.empty() ? paragraph("The results file does not have the parts of the memory.") : table(memory));
}

}  // namespace multicard::post
