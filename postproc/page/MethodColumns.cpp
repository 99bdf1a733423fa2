
#include "base/Text.hpp"
#include "postproc/page/StudyColumns.hpp"
#include "postproc/study/DataSets.hpp"
#include "postproc/study/Labels.hpp"

namespace multicard::post {

namespace {

/// Bytes copied in a step; there is nothing to copy between host and device where ranks compute on CPUs.
std::function<Value(const MethodCell&)> copied(double MethodCell::*bytes) {
  return
      [bytes](const MethodCell& cell) { return cell.on_cpu ? Value(HtmlCell("none on CPU", 0)) : Value(cell.*bytes); };
}

/// Only of methods with memory: the table leaves out the others.
std::function<Value(const MethodCell&)> part(double MemorySplit::*bytes) {
  return [bytes](const MethodCell& cell) { return (*cell.memory).*bytes; };
}

int ranks_of(const MethodCell& cell) {
  return cell.cell->ranks;
}

}  // namespace

Columns<MethodCell> method_columns(const Study& study) {
  using Method = MethodCell;
  return {
      {"configuration", kJson | kPage, &Method::label, "method"},
      {"method", kJson, &Method::method},
      {"objective", kJson | kPage, [](const Method& cell) { return text_of(cell.objective); }, "objective"},
      {"ranks", kJson | kPage, ranks_of, "ranks"},
      {"iteration_s", kJson, [](const Method& cell) { return cell.cell->step_time; }},
      {"iteration, ms", [](const Method& cell) { return in_milliseconds(cell.cell->step_time); }},
      {"rate_per_s", kJson | kPage, [](const Method& cell) { return cell.cell->rate; }, study.rate_unit()},
      {"peak memory", [](const Method& cell) { return cell.memory ? cell.memory->peak : kNone; }, Format::bytes},
      {"host_to_device_bytes_a_step", kJson | kPage, copied(&Method::host_to_device), "host to device", Format::bytes},
      {"device_to_device_bytes_a_step", kJson | kPage, copied(&Method::device_to_device), "device to device",
       Format::bytes},
      {"all_reduce_bytes_a_step", kJson | kPage, &Method::reduced, "all-reduced", Format::bytes},
      {"all_reduce_bus_bytes_a_step", kJson, &Method::on_bus},
      {"on the bus",
       [](const Method& cell) {
         return ranks_of(cell) == 1 ? Value(HtmlCell("none (1 rank)", 0)) : Value(cell.on_bus);
       },
       Format::bytes},
      {"held_out_loss", kJson | kPage, &Method::held_out_loss, "held-out loss"},
      {"preference_accuracy", kJson | kPage, &Method::preference_accuracy, "preference accuracy", Format::three_digits},
      {"held out", &Method::num_held_out, Format::count},
      {"memory_bytes", kJson,
       [](const Method& cell) { return cell.memory ? Value(json_row(method_memory_columns(), cell)) : Value(); }}};
}

Columns<MethodCell> method_memory_columns() {
  return {{"method", &MethodCell::label},
          {"ranks", ranks_of},
          {"peak", kJson | kPage, part(&MemorySplit::peak), "peak", Format::bytes},
          {"weights", kJson | kPage, part(&MemorySplit::weights), "weights", Format::bytes_if_any},
          {"adapters", kJson | kPage, part(&MemorySplit::adapters), "adapters", Format::bytes_if_any},
          {"gradients", kJson | kPage, part(&MemorySplit::gradients), "gradients", Format::bytes_if_any},
          {"optimizer", kJson | kPage, part(&MemorySplit::optimizer), "optimizer", Format::bytes_if_any},
          {"reference", kJson | kPage, part(&MemorySplit::reference), "reference copy", Format::bytes_if_any},
          {"rest", kJson | kPage, part(&MemorySplit::rest), "the rest", Format::bytes},
          {"activations_predicted", kJson | kPage, part(&MemorySplit::activations), "of it activations, predicted",
           Format::bytes}};
}

Columns<CountedMethod> counted_columns(const std::vector<CountedMethod>& all) {
  using Method = CountedMethod;
  return {
      {"method", kJson | kPage, &Method::method, "method"},
      {"model", kJson, &Method::model},
      {"model", [](const Method& one) { return last_name(one.model); }},
      {"checkpointing", kJson, &Method::checkpointing},
      {"tokens", kJson | kPage, &Method::tokens, "tokens", Format::count},
      {"checkpointing", [](const Method& one) { return one.checkpointing ? "yes" : "no"; }},
      {"launches", kJson | kPage, &Method::launches, "launches", Format::count},
      {"launches_over_lora", kJson | kPage, [&all](const Method& one) { return launches_over_lora(all, one); },
       "of lora’s", Format::factor},
      {"matrix_products", kJson | kPage, &Method::products, "matrix products", Format::count},
      {"matrix_products_over_lora", kJson | kPage, [&all](const Method& one) { return products_over_lora(all, one); },
       "of lora’s", Format::factor},
      {"flops", kJson, &Method::flops},
      {"TFLOP of products", [](const Method& one) { return HtmlCell(significant(one.flops / 1e12, 3), one.flops); }},
      {"host_to_device_bytes", kJson | kPage, &Method::host_to_device, "host to device", Format::bytes_if_any},
      {"device_to_device_bytes", kJson | kPage, &Method::device_to_device, "device to device", Format::bytes_if_any},
      {"all_reduce_bytes", kJson | kPage, &Method::reduced, "all-reduced", Format::bytes_if_any},
      {"memory_bytes", kJson, [](const Method& one) { return json_row(counted_memory_columns(), one); }}};
}

Columns<CountedMethod> counted_memory_columns() {
  using Method = CountedMethod;
  return {{"method", &Method::method},
          {"tokens", &Method::tokens, Format::count},
          {"peak", kJson | kPage, &Method::peak, "peak", Format::bytes_if_any},
          {"weights", kJson | kPage, &Method::weights, "weights", Format::bytes_if_any},
          {"adapters", kJson | kPage, &Method::adapters, "adapters", Format::bytes_if_any},
          {"gradients", kJson | kPage, &Method::gradients, "gradients", Format::bytes_if_any},
          {"optimizer", kJson | kPage, &Method::optimizer, "optimizer", Format::bytes_if_any},
          {"reference", kJson | kPage, &Method::reference, "reference copy", Format::bytes_if_any},
          {"rest", kJson | kPage, &Method::rest, "the rest", Format::bytes_if_any}};
}

Columns<ClassScore> class_columns() {
  using Class = ClassScore;
  return {{"name", kJson | kPage, &Class::name, "class"},
          {"samples", kJson | kPage, &Class::samples, "samples", Format::count},
          {"correct", kJson | kPage, &Class::correct, "right", Format::count},
          {"predicted", kJson | kPage, &Class::predicted, "taken for it", Format::count},
          {"precision", kJson | kPage, &Class::precision, "precision"},
          {"recall", kJson, &Class::recall},
          {"recall", [](const Class& score) { return estimate_of_share(score.correct, score.samples); },
           Format::three_digits},
          {"f1", kJson | kPage, &Class::f1, "F1"}};
}

}  // namespace multicard::post
