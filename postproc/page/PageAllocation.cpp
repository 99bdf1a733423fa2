#include "postproc/page/PageAllocation.hpp"

#include <cmath>

#include <fmt/format.h>

#include "base/Quantiles.hpp"
#include "base/Text.hpp"
#include "postproc/page/Html.hpp"
#include "postproc/reduce/NumberText.hpp"

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
      "Which ranks each task had when, and the time of a step there. A prediction is of the moment when the "
      "task came to its ranks; the measurement is the median of the newest steps at the last meeting.",
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

}  // namespace

std::string allocation_html(const Study& study) {
  std::string out;
  for (const Source& source : study.sources) {
    if (source.allocation.empty()) continue;
    out += subheading("Ranks of the tasks") + paragraph(sentence_of(source.allocation)) +
           table(allocation_table(source.allocation));
  }
  return out;
}

}  // namespace multicard::post
