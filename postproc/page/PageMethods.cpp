#include "postproc/page/Html.hpp"
#include "postproc/page/PageTables.hpp"
#include "postproc/page/StudyColumns.hpp"

namespace multicard::post {

std::string methods_html(const Study& study) {
  if (!compares_methods(study)) return {};
  std::vector<MethodCell> cells = method_cells(study);
  const HtmlTable methods =
      html_table("methods",
                 "Tuning methods: time, traffic a step and rank, and what was reached on the held-out set. Click a "
                 "column header to sort.",
                 method_columns(study), cells);
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
