#include "postproc/page/Html.hpp"
#include "postproc/page/PageTables.hpp"
#include "postproc/page/StudyColumns.hpp"

namespace multicard::post {

std::string counted_html(const std::vector<CountedMethod>& methods) {
  if (methods.empty()) return {};
  const HtmlTable work =
      html_table("counted",
                 "Counted on a simulated GPU, not timed: a step of one rank. Launches are kernels and matrix products; "
                 "all-reduced are the bytes that each rank would give to all-reduces.",
                 counted_columns(methods), methods);
  const HtmlTable memory = html_table(
      "counted-memory",
      "Counted on a simulated GPU: memory that tensors took at most, and of it the bytes of the tensors of each kind. "
      "The rest is activations, batches and workspaces.",
      counted_memory_columns(), methods);
  return paragraph(
             "The program ran on a CUDA stack that computes nothing. What it launches, copies and allocates is counted "
             "exactly; how long that takes on a GPU is not known from it.") +
         table(work) + table(memory);
}

}  // namespace multicard::post
