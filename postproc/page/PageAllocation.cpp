#include "postproc/page/PageAllocation.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/Quantiles.hpp"
#include "base/Text.hpp"
#include "postproc/page/Html.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/ShareAnswer.hpp"

namespace multicard::post {

namespace {

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

HtmlTable allocation_table(const std::vector<AllocationInterval>& intervals) {
  HtmlTable out{
      "allocation",
      "Which ranks each task had when, and the time of a step there. A prediction is of the moment when the "
      "task came to its ranks; the measurement is the median of the newest steps in the last scheduling round.",
      {"task", "ranks", "from, s", "to, s", "predicted step, ms", "measured step, ms", "error"},
      {}};
  for (const AllocationInterval& interval : intervals) {
    const std::int64_t last = interval.first_rank + interval.ranks - 1;
    const std::string ranks =
        interval.ranks > 1 ? fmt::format("{}–{}", interval.first_rank, last) : std::to_string(last);
    const double error = is_compared(interval) ? error_of(interval) : kNone;
    out.rows.push_back({interval.task,
                        ranks,
                        {fmt::format("{:.1f}", interval.start_s), interval.start_s},
                        {fmt::format("{:.1f}", interval.end_s), interval.end_s},
                        milliseconds(interval.predicted_step_s),
                        milliseconds(interval.measured_step_s),
                        {percent(error), error}});
  }
  return out;
}

std::string sentence_of(const std::vector<AllocationInterval>& intervals) {
  std::vector<double> errors;
  for (const AllocationInterval& interval : intervals)
    if (is_compared(interval)) errors.push_back(std::abs(error_of(interval)));
  if (errors.empty()) return "No task came to ranks for which a step time had been predicted.";
  return fmt::format("The step time was predicted {}; the median error is {}.",
                     counted(static_cast<long>(errors.size()), "time"), percent(median(errors)));
}

HtmlTable decisions_table(const std::vector<AllocationChange>& changes) {
  HtmlTable out{
      "decisions",
      "What was decided, and why. The gain is that of the objective, the cost the seconds of the moves; both hold for "
      "all "
      "changes at one time together.",
      {"at, s", "task", "ranks", "reason", "predicted gain", "cost, s"},
      {}};
  for (const AllocationChange& change : changes)
    out.rows.push_back({{fmt::format("{:.1f}", change.time_s), change.time_s},
                        change.task,
                        {fmt::format("{} → {}", change.from, change.to), double(change.to)},
                        change.reason,
                        {change.predicted_gain > 0 ? percent(change.predicted_gain) : "–", change.predicted_gain},
                        {fmt::format("{:.2g}", change.cost_s), change.cost_s}});
  return out;
}

std::string name_of_policy(const std::string& policy) {
  if (policy == "sequential") return "one task after another";
  return policy == "equal" ? "equal split" : policy;
}

HtmlTable baselines_table(const std::vector<AllocationBaseline>& baselines, double end_s) {
  HtmlTable out{
      "policies",
      fmt::format("Training under other policies, predicted from the measured steps, without start-up, evaluations and "
                  "moves; the limits are those of 95 % intervals. All of this took {:.4g} s.",
                  end_s),
      {"policy", "seconds (limits)", "over what this took", "note"},
      {}};
  for (const AllocationBaseline& baseline : baselines) {
    const bool known = baseline.predicted_s > 0 && end_s > 0;
    const auto share = [&](double seconds) { return known ? seconds / end_s : kNone; };
    const Estimate seconds{baseline.predicted_s, Interval{baseline.low_s, baseline.high_s}, Basis::none, 0};
    const Estimate ratio{share(baseline.predicted_s), Interval{share(baseline.low_s), share(baseline.high_s)},
                         Basis::none, 0};
    out.rows.push_back({name_of_policy(baseline.policy),
                        {known ? with_interval(seconds) : "unknown", seconds.value},
                        {known ? with_interval(ratio, 3) : "–", ratio.value},
                        baseline.reason});
  }
  return out;
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
    if (!record.baselines.empty()) out += table(baselines_table(record.baselines, end_of(record.intervals)));
  }
  return out;
}

}  // namespace multicard::post
