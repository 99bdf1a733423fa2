#include "postproc/page/PageMethods.hpp"

#include <cmath>

#include "base/Text.hpp"
#include "postproc/page/Html.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/DataSets.hpp"
#include "postproc/study/Methods.hpp"

namespace multicard::post {

namespace {

HtmlCell bytes(double value) {
  return {std::isfinite(value) ? human_bytes(value) : "–", value};
}

/// Of a kind of memory: that a method has none of it is not a small number.
HtmlCell part(double value) {
  return value == 0 ? HtmlCell("–", 0) : bytes(value);
}

HtmlCell estimate(const Estimate& value, int digits = 4) {
  return {with_interval(value, digits), value.value};
}

HtmlCell copied(const MethodCell& cell, double bytes_copied) {
  return cell.on_cpu ? HtmlCell("none on CPU", 0) : bytes(bytes_copied);
}

HtmlCell on_bus(const MethodCell& cell) {
  return cell.cell->ranks == 1 ? HtmlCell("none (1 rank)", 0) : bytes(cell.on_bus);
}

HtmlTable methods_table(const Study& study, const std::vector<MethodCell>& cells) {
  HtmlTable out{
      "methods",
      "Tuning methods: time, traffic a step and rank, and what was reached on the held-out set. Click a column header "
      "to sort.",
      {"method", "objective", "ranks", "iteration, ms", study.rate_unit(), "peak memory", "host to device",
       "device to device", "all-reduced", "on the bus", "held-out loss", "preference accuracy", "held out"},
      {}};
  for (const MethodCell& cell : cells)
    out.rows.push_back(
        {cell.label,
         text_of(cell.objective),
         {std::to_string(cell.cell->ranks), static_cast<double>(cell.cell->ranks)},
         estimate(in_milliseconds(cell.cell->step_time)),
         estimate(cell.cell->rate),
         bytes(cell.memory ? cell.memory->peak : kNone),
         copied(cell, cell.host_to_device),
         copied(cell, cell.device_to_device),
         bytes(cell.reduced),
         on_bus(cell),
         estimate(cell.held_out_loss),
         estimate(cell.preference_accuracy, 3),
         {std::isfinite(cell.num_held_out) ? grouped(std::llround(cell.num_held_out)) : "–", cell.num_held_out}});
  return out;
}

HtmlTable memory_table(const std::vector<MethodCell>& cells) {
  HtmlTable out{
      "methods-memory",
      "Peak memory of the rank that needs most, by kind. The peak is measured (of a CPU rank its resident memory, of a "
      "GPU what tensors took); weights to reference copy are the bytes of the tensors; the rest is the difference: "
      "activations, batches, workspaces, on a CPU also the program and its libraries. Activations as predicted before "
      "the first step.",
      {"method", "ranks", "peak", "weights", "adapters", "gradients", "optimizer", "reference copy", "the rest",
       "of it activations, predicted"},
      {}};
  for (const MethodCell& cell : cells) {
    if (!cell.memory) continue;
    const MemorySplit& memory = *cell.memory;
    out.rows.push_back({cell.label,
                        {std::to_string(cell.cell->ranks), static_cast<double>(cell.cell->ranks)},
                        bytes(memory.peak),
                        part(memory.weights),
                        part(memory.adapters),
                        part(memory.gradients),
                        part(memory.optimizer),
                        part(memory.reference),
                        bytes(memory.rest),
                        bytes(memory.activations)});
  }
  return out;
}

}  // namespace

std::string methods_html(const Study& study) {
  if (!compares_methods(study)) return {};
  const std::vector<MethodCell> cells = method_cells(study);
  const HtmlTable memory = memory_table(cells);
  return subheading("Tuning methods") + list(texts_of(fairness_findings(study))) + table(methods_table(study, cells)) +
         (memory.rows.empty() ? paragraph("The results file does not have the parts of the memory.") : table(memory));
}

}  // namespace multicard::post
