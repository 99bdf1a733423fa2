#include <cmath>

#include <fmt/format.h>

#include "base/Percent.hpp"
#include "base/Quantiles.hpp"
#include "base/Text.hpp"
#include "postproc/page/Columns.hpp"
#include "postproc/page/PageTables.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/ShareAnswer.hpp"

namespace multicard::post {

namespace {

/// Either time may be missing (0): of a task that came to its ranks first, nothing had been predicted.
bool is_compared(const AllocationInterval& interval) {
  return interval.predicted_step_s > 0 && interval.measured_step_s > 0;
}

/// Of the prediction, as a share of what was measured.
double error_of(const AllocationInterval& interval) {
  return interval.predicted_step_s / interval.measured_step_s - 1;
}

HtmlCell milliseconds(double seconds) {
  return {seconds > 0 ? significant(1000 * seconds) : "–", seconds};
}

/// Of a moment.
HtmlCell tenths(double seconds) {
  return {fmt::format("{:.1f}", seconds), seconds};
}

/// "3", "0–3", "0, 2".
std::string ranks_of(const AllocationInterval& interval) {
  std::vector<std::string> parts;
  for (const RankRun& run : rank_runs(interval))
    parts.push_back(run.last > run.first ? fmt::format("{}–{}", run.first, run.last) : std::to_string(run.first));
  return join(parts, ", ");
}

HtmlTable allocation_table(const std::vector<AllocationInterval>& intervals) {
  using At = AllocationInterval;
  const Columns<At> columns{
      {"task", &At::task},
      {"ranks", ranks_of},
      {"from, s", [](const At& at) { return tenths(at.start_s); }},
      {"to, s", [](const At& at) { return tenths(at.end_s); }},
      {"predicted step, ms", [](const At& at) { return milliseconds(at.predicted_step_s); }},
      {"measured step, ms", [](const At& at) { return milliseconds(at.measured_step_s); }},
      {"error", [](const At& at) { return is_compared(at) ? error_of(at) : kNone; }, Format::percent}};
  return html_table(
      "allocation",
      "Which ranks each task had when, and the time of a step there. A prediction is of the moment when the "
      "task came to its ranks; the measurement is the median of the newest steps in the last scheduling round.",
      columns, intervals);
}

/// The median of the absolute errors: an interval of a few steps may be far off.
std::string sentence_of(const std::vector<AllocationInterval>& intervals) {
  std::vector<double> errors;
  for (const AllocationInterval& interval : intervals)
    if (is_compared(interval)) errors.push_back(std::abs(error_of(interval)));
  if (errors.empty()) return "No task came to ranks for which a step time had been predicted.";
  return fmt::format("The step time was predicted {}; the median error is {}.",
                     counted(static_cast<long>(errors.size()), "time"), percent(median(errors)));
}

/// Which nodes ranks were put on, and what they would take elsewhere.
HtmlTable placements_table(const std::vector<AllocationPlacement>& placements) {
  using Row = AllocationPlacement;
  const Columns<Row> columns{{"at, s", [](const Row& row) { return tenths(row.time_s); }},
                             {"task", &Row::task},
                             {"ranks on each node", &Row::placement},
                             {"step, ms", [](const Row& row) { return milliseconds(row.predicted_step_s); }},
                             {"", [](const Row& row) { return HtmlCell(row.is_chosen == 1 ? "chosen" : ""); }}};
  return html_table(
      "placements",
      "What a step of each task takes on its ranks where they were put, and over another number of nodes, "
      "as measured or predicted.",
      columns, placements);
}

HtmlTable decisions_table(const std::vector<AllocationChange>& changes) {
  using Change = AllocationChange;
  const auto gain = [](const Change& change) {
    return HtmlCell(change.predicted_gain > 0 ? percent(change.predicted_gain) : "–", change.predicted_gain);
  };
  const Columns<Change> columns{
      {"at, s", [](const Change& change) { return tenths(change.time_s); }},
      {"task", &Change::task},
      {"ranks",
       [](const Change& change) {
         return HtmlCell(fmt::format("{} → {}", change.from, change.to), double(change.to));
       }},
      {"reason", &Change::reason},
      {"predicted gain", gain},
      {"cost, s", [](const Change& change) { return HtmlCell(fmt::format("{:.2g}", change.cost_s), change.cost_s); }}};
  return html_table("decisions",
                    "What was decided, and why. The gain is that of the objective, the cost the seconds of the moves; "
                    "both hold for all changes at one time together.",
                    columns, changes);
}

/// The baselines of docs/share.md in words.
std::string name_of_policy(const AllocationBaseline& baseline) {
  if (baseline.policy == "sequential") return "one task after another";
  return baseline.policy == "equal" ? "equal split" : baseline.policy;
}

HtmlTable baselines_table(const std::vector<AllocationBaseline>& baselines, double end_s) {
  using Policy = AllocationBaseline;
  const auto is_known = [end_s](const Policy& policy) { return policy.predicted_s > 0 && end_s > 0; };
  /// The predicted seconds over `unit`.
  const auto predicted = [](const Policy& policy, double unit) {
    return Estimate{policy.predicted_s / unit, Interval{policy.low_s / unit, policy.high_s / unit}, Basis::none, 0};
  };
  const auto seconds = [=](const Policy& policy) {
    return HtmlCell(is_known(policy) ? with_interval(predicted(policy, 1)) : "unknown", policy.predicted_s);
  };
  const auto relative = [=](const Policy& policy) { return is_known(policy) ? predicted(policy, end_s) : Estimate{}; };
  const Columns<Policy> columns{{"policy", name_of_policy},
                                {"seconds (limits)", seconds},
                                {"over what this took", relative, Format::three_digits},
                                {"note", &Policy::reason}};
  return html_table(
      "policies",
      fmt::format("Training under other policies, predicted from the measured steps, without start-up, evaluations and "
                  "moves; the limits are those of 95 % intervals. All of this took {:.4g} s.",
                  end_s),
      columns, baselines);
}

}  // namespace

std::string allocation_html(const Study& study) {
  std::string out;
  for (const Source& source : study.sources) {
    const AllocationRecord& record = source.allocation;
    if (record.intervals.empty()) continue;
    out += subheading("Ranks of the tasks") + paragraph(sentence_of(record.intervals)) +
           table(allocation_table(record.intervals));
    if (!record.changes.empty()) out += table(decisions_table(record.changes));
    if (!record.placements.empty()) out += table(placements_table(record.placements));
    if (!record.baselines.empty()) out += table(baselines_table(record.baselines, end_of(record.intervals)));
  }
  return out;
}

}  // namespace multicard::post
