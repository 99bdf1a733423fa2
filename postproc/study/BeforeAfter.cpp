#include "postproc/study/BeforeAfter.hpp"

#include <cmath>

#include <fmt/format.h>

#include "base/Percent.hpp"
#include "base/Text.hpp"
#include "postproc/reduce/NumberText.hpp"

namespace multicard::post {

namespace {

std::string number(double value) {
  return std::isfinite(value) ? significant(value) : "–";
}

/// "−0.61", "+0.02"
std::string signed_text(double value, const std::string& digits) {
  return (value < 0 ? "−" : "+") + digits;
}

/// Of a loss: absolute, with as many decimals as the loss itself.
std::string difference(const Change& change) {
  if (!change.known()) return "–";
  const double by = change.after - change.before;
  return signed_text(by, alike(std::abs(by), change.after, 4));
}

/// Of a perplexity: in per cent, since it is an exponential.
std::string relative(const Change& change) {
  if (!change.known()) return "–";
  const double by = change.after / change.before - 1;
  return signed_text(by, percent(std::abs(by)));
}

/// "12 of 50, 24.0 %"
std::string hits(double share, double questions) {
  if (!std::isfinite(share)) return "–";
  if (!std::isfinite(questions)) return percent(share);
  return fmt::format("{} of {}, {}", grouped(std::lround(share * questions)), grouped(std::lround(questions)),
                     percent(share));
}

/// Of a share: percentage points.
std::string points(const Change& change) {
  if (!change.known()) return "–";
  const double by = 100 * (change.after - change.before);
  return signed_text(by, fmt::format("{:.1f} points", std::abs(by)));
}

}  // namespace

std::vector<ChangeLine> change_lines(const TuningReport& report) {
  std::vector<ChangeLine> lines;
  const auto add = [&](const char* label, const Change& change, const std::string& by) {
    if (change.any()) lines.push_back({label, number(change.before), number(change.after), by});
  };
  add("test loss", report.loss, difference(report.loss));
  add("perplexity", report.perplexity, relative(report.perplexity));
  add("reward margin", report.reward_margin, difference(report.reward_margin));
  if (report.reward_accuracy.any())
    lines.push_back({"reward accuracy", hits(report.reward_accuracy.before, kNone),
                     hits(report.reward_accuracy.after, kNone), points(report.reward_accuracy)});
  if (report.exact_match.any())
    lines.push_back({"exact match", hits(report.exact_match.before, report.questions.before),
                     hits(report.exact_match.after, report.questions.after), points(report.exact_match)});
  return lines;
}

std::vector<TunedRun> tuned_runs(const Study& study) {
  std::vector<TunedRun> tuned;
  for (const Cell& cell : study.cells)
    for (const std::size_t i : cell.runs) {
      const RunReport& run = study.runs[i];
      if (!run.tuning) continue;
      const std::string heading =
          fmt::format("run {}: {}, {}", run.name, study.configuration(cell).full_label(), counted(run.ranks, "rank"));
      tuned.push_back({&run, study.runs.size() == 1 ? std::string() : heading});
    }
  return tuned;
}

}  // namespace multicard::post
