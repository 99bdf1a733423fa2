#include "postproc/page/ClaimColumns.hpp"

#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "base/Percent.hpp"

namespace multicard::post {

namespace {

constexpr Outputs kFiles = kCsv | kJson;
constexpr Outputs kAll = kCsv | kJson | kPage;

/// A ratio in files, a change on the page.
template <class Row>
void add_change(Columns<Row>& columns, const std::string& name, const std::string& label, Estimate Row::*ratio) {
  columns.push_back({name, kFiles, [ratio](const Row& row) -> Value { return row.*ratio; }});
  columns.push_back(
      {label, [ratio](const Row& row) -> Value { return HtmlCell(change_text(row.*ratio), (row.*ratio).value - 1); }});
}

/// Alike, of ratios without intervals.
void add_plain_change(Columns<SimulatedChange>& columns, const std::string& name, const std::string& label,
                      double SimulatedChange::*ratio) {
  columns.push_back({name, kFiles, [ratio](const SimulatedChange& row) -> Value { return row.*ratio; }});
  columns.push_back({label, [ratio](const SimulatedChange& row) -> Value {
                       const double value = row.*ratio;
                       return HtmlCell(change_text({value, {}, Basis::none, 1}), value - 1);
                     }});
}

template <class Row>
Column<Row> text_column(const std::string& name, std::string Row::*member, const std::string& label) {
  return {name, kAll, [member](const Row& row) -> Value { return row.*member; }, label};
}

template <class Row>
Column<Row> verdict_column() {
  return {"verdict", kAll, [](const Row& row) -> Value { return text_of(row.verdict); }, "claimed value"};
}

Value parity_of(const CommunicationCost& cost) {
  if (std::isnan(cost.worst_loss)) return "–";
  std::string text = percent(cost.worst_loss);
  if (cost.is_lossy) text += fmt::format(", {}", text_of(cost.parity));
  if (cost.is_control) text += ", control";
  return HtmlCell(text, cost.worst_loss);
}

void add_names(Columns<CommunicationCost>& columns) {
  using Cost = CommunicationCost;
  columns.push_back(text_column("place", &Cost::place, "place"));
  columns.push_back(text_column("task", &Cost::task, "task"));
  columns.push_back(text_column("variant", &Cost::variant, "exchange"));
}

}  // namespace

Columns<IterationChange> iteration_change_columns() {
  using Change = IterationChange;
  Columns<Change> out{text_column("place", &Change::place, "place"),
                      text_column("variant", &Change::variant, "variant"),
                      text_column("base", &Change::base, "against")};
  add_change(out, "together_ratio", "time of both", &Change::together);
  add_change(out, "image_step_ratio", "step, image", &Change::image);
  add_change(out, "text_step_ratio", "step, text", &Change::text);
  out.push_back({"steps_ratio", kFiles, [](const Change& row) -> Value { return row.both_steps; }});
  out.push_back(verdict_column<Change>());
  return out;
}

Columns<IterationTime> iteration_time_columns() {
  using Time = IterationTime;
  return {
      text_column("place", &Time::place, "place"),
      text_column("variant", &Time::variant, "variant"),
      {"together_s", kAll, [](const Time& row) -> Value { return row.together; }, "both done, s"},
      {"image_step_s", kAll, [](const Time& row) -> Value { return row.image; }, "step, image, ms",
       Format::milliseconds},
      {"text_step_s", kAll, [](const Time& row) -> Value { return row.text; }, "step, text, ms", Format::milliseconds}};
}

Columns<SimulatedChange> simulated_change_columns() {
  using Change = SimulatedChange;
  Columns<Change> out{text_column("pair", &Change::pair, "tasks"),
                      {"gpus", kFiles, [](const Change& row) -> Value { return row.gpus; }},
                      {"GPUs",
                       [](const Change& row) -> Value {
                         return HtmlCell(row.gpus.substr(0, row.gpus.find(' ')), std::atof(row.gpus.c_str()));
                       }},
                      text_column("work", &Change::work, "work by the"),
                      {"seconds", kAll, [](const Change& row) -> Value { return row.seconds; }, "the plan, s"}};
  add_plain_change(out, "equal_ratio", "against the equal split", &Change::over_equal);
  add_plain_change(out, "sequential_ratio", "against one after another", &Change::over_sequential);
  return out;
}

Columns<MemoryUse> memory_use_columns() {
  using Use = MemoryUse;
  Columns<Use> out{text_column("device", &Use::device, "device"), text_column("task", &Use::task, "task"),
                   text_column("variant", &Use::variant, "variant")};
  out.push_back({"utilisation", kFiles, [](const Use& row) -> Value { return row.utilisation; }});
  out.push_back({"utilisation", [](const Use& row) -> Value {
                   return HtmlCell(percent(row.utilisation.value), row.utilisation.value);
                 }});
  out.push_back({"points", kFiles, [](const Use& row) -> Value { return row.points; }});
  out.push_back({"points", [](const Use& row) -> Value {
                   if (!row.points.known()) return "–";
                   return HtmlCell(fmt::format("{:+.2f}", 100 * row.points.value), row.points.value);
                 }});
  add_change(out, "utilisation_ratio", "relative", &Use::relative);
  out.push_back({"rate_per_s", kAll, [](const Use& row) -> Value { return row.rate; }, "rate, 1/s"});
  add_change(out, "rate_ratio", "rate", &Use::rate_ratio);
  out.push_back(verdict_column<Use>());
  return out;
}

Columns<CommunicationCost> communication_cost_columns() {
  using Cost = CommunicationCost;
  Columns<Cost> out;
  add_names(out);
  out.push_back(
      {"bytes_a_sample", kAll, [](const Cost& row) -> Value { return row.bytes; }, "bytes a sample", Format::value});
  out.push_back({"link_over_counted", kAll, [](const Cost& row) -> Value { return row.link_over_counted; },
                 "on the link, of counted", Format::value});
  out.push_back({"step_s", kAll, [](const Cost& row) -> Value { return row.step; }, "step, ms", Format::milliseconds});
  out.push_back(
      {"exposed_s", kAll, [](const Cost& row) -> Value { return row.exposed; }, "exposed, ms", Format::milliseconds});
  out.push_back({"exposed_share", kFiles, [](const Cost& row) -> Value { return row.exposed_share; }});
  out.push_back({"of the step", [](const Cost& row) -> Value {
                   return HtmlCell(percent(row.exposed_share.value), row.exposed_share.value);
                 }});
  out.push_back({"inside_s", kAll, [](const Cost& row) -> Value { return row.inside; }, "inside collectives, ms",
                 Format::milliseconds});
  out.push_back({"worst_loss", kFiles, [](const Cost& row) -> Value { return row.worst_loss; }});
  out.push_back({"parity", kFiles, [](const Cost& row) -> Value { return text_of(row.parity); }});
  out.push_back({"loss off fp32", parity_of});
  out.push_back({"seeds", kAll, [](const Cost& row) -> Value { return row.num_seeds; }, "seeds"});
  return out;
}

Columns<CommunicationCost> communication_change_columns() {
  using Cost = CommunicationCost;
  Columns<Cost> out;
  add_names(out);
  add_change(out, "bytes_ratio", "bytes a sample", &Cost::bytes_ratio);
  add_change(out, "exposed_ratio", "exposed", &Cost::exposed_ratio);
  add_change(out, "inside_ratio", "inside collectives", &Cost::inside_ratio);
  out.push_back({"loss off fp32", parity_of});
  out.push_back(verdict_column<Cost>());
  return out;
}

}  // namespace multicard::post
