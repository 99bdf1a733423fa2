#include "postproc/page/PageCounted.hpp"

#include <cmath>

#include "base/Text.hpp"
#include "postproc/page/Html.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/Labels.hpp"

namespace multicard::post {

namespace {

HtmlCell count(double value) {
  return {grouped(std::llround(value)), value};
}

HtmlCell bytes(double value) {
  return {value > 0 ? human_bytes(value) : "–", value};
}

HtmlCell factor(double value) {
  return {std::isfinite(value) ? alike(value, value, 3) : "–", value};
}

HtmlTable work_table(const std::vector<CountedMethod>& methods) {
  HtmlTable out{"counted",
                "Counted on a simulated GPU, not timed: a step of one rank. Launches are kernels and matrix products; "
                "all-reduced are the bytes that each rank would give to all-reduces.",
                {"method", "model", "tokens", "checkpointing", "launches", "of lora’s", "matrix products", "of lora’s",
                 "TFLOP of products", "host to device", "device to device", "all-reduced"},
                {}};
  for (const CountedMethod& one : methods)
    out.rows.push_back({one.method,
                        last_name(one.model),
                        count(static_cast<double>(one.tokens)),
                        one.checkpointing ? "yes" : "no",
                        count(one.launches()),
                        factor(launches_over_lora(methods, one)),
                        count(one.products),
                        factor(products_over_lora(methods, one)),
                        {significant(one.flops / 1e12, 3), one.flops},
                        bytes(one.host_to_device),
                        bytes(one.device_to_device),
                        bytes(one.reduced)});
  return out;
}

HtmlTable memory_table(const std::vector<CountedMethod>& methods) {
  HtmlTable out{
      "counted-memory",
      "Counted on a simulated GPU: memory that tensors took at most, and of it the bytes of the tensors of each kind. "
      "The rest is activations, batches and workspaces.",
      {"method", "tokens", "peak", "weights", "adapters", "gradients", "optimizer", "reference copy", "the rest"},
      {}};
  for (const CountedMethod& one : methods)
    out.rows.push_back({one.method, count(static_cast<double>(one.tokens)), bytes(one.peak), bytes(one.weights),
                        bytes(one.adapters), bytes(one.gradients), bytes(one.optimizer), bytes(one.reference),
                        bytes(one.rest())});
  return out;
}

}  // namespace

std::string counted_html(const std::vector<CountedMethod>& methods) {
  if (methods.empty()) return {};
  return paragraph(
             "The program ran on a CUDA stack that computes nothing. What it launches, copies and allocates is counted "
             "exactly; how long that takes on a GPU is not known from it.") +
         table(work_table(methods)) + table(memory_table(methods));
}

}  // namespace multicard::post
