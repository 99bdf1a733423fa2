#include "postproc/study/TrainingAnswer.hpp"

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/Ranking.hpp"
#include "postproc/study/RunningMedian.hpp"

namespace multicard::post {

namespace {

/// "from 1.19 to 0.83", or the last value alone where nothing was measured before the first step.
std::string change_text(const Change& change, Evidence& evidence) {
  evidence.add({"after", change.after});
  if (!change.known()) return significant(change.after);
  evidence.add({"before", change.before});
  return fmt::format("from {} to {}", significant(change.before), significant(change.after));
}

/// "Test loss from 1.19 to 0.83": of what a tuning measured.
std::string tuning_text(const TuningReport& tuning, Evidence& evidence) {
  if (tuning.reward_accuracy.after == tuning.reward_accuracy.after)
    return "Preference accuracy " + change_text(tuning.reward_accuracy, evidence);
  if (tuning.loss.after == tuning.loss.after) return "Test loss " + change_text(tuning.loss, evidence);
  return {};
}

std::string train_loss_text(const RunReport& run, Evidence& evidence) {
  const MetricSeries* loss = run.metric("train_loss");
  if (!loss || !has_curve(*loss)) return {};
  // Single losses are noise: both ends of the smoothed curve, as the figure draws it.
  const auto curve = running_median(*loss, window_for(loss->values.size()));
  return "Training loss " + change_text({curve.front().second, curve.back().second}, evidence);
}

/// What the cell reached, by the first measure that it has; empty without any.
std::string result_text(const Study& study, const Cell& cell, const RunReport& run, Evidence& evidence) {
  // Scores before and after are of one run; several repeats have medians instead.
  if (cell.measured.size() == 1 && run.tuning)
    if (std::string text = tuning_text(*run.tuning, evidence); !text.empty()) return text;
  if (cell.test_accuracy.known()) {
    evidence.add({"accuracy", cell.test_accuracy});
    return "Test accuracy " + with_interval(cell.test_accuracy);
  }
  if (cell.test_loss.known()) {
    evidence.add({"loss", cell.test_loss});
    return "Test loss " + with_interval(cell.test_loss);
  }
  return study.runs.size() == 1 ? train_loss_text(run, evidence) : std::string();
}

/// Steps until the result was measured: at the last evaluation after the first step, else all.
std::int64_t steps_of_result(const RunReport& run) {
  for (const char* name : {"eval_accuracy", "eval_loss"})
    if (const MetricSeries* metric = run.metric(name); metric && metric->steps.back() > 0) return metric->steps.back();
  return run.num_steps;
}

}  // namespace

Finding training_finding(const Study& study) {
  if (study.cells.size() != 1 || study.cells.front().status == CellStatus::failed) return {};
  const Cell& cell = study.cells.front();
  const RunReport& run = cell.measured.empty() ? study.runs[cell.runs.front()] : representative(study, cell);
  Finding out{{}, {}, "training"};
  const std::string result = result_text(study, cell, run, out.evidence);
  if (result.empty()) return {};
  const std::int64_t steps = steps_of_result(run);
  const int least_ranks = run.least_ranks > 0 ? run.least_ranks : run.ranks;
  out.evidence.add({{"steps", steps}, {"ranks", run.ranks}, {"fewest_ranks", least_ranks}});
  out.text = fmt::format("{} after {}", result, counted(steps, "step"));
  if (const double seconds = number_in(run.epoch_seconds, "train"); seconds > 0 && steps == run.num_steps) {
    out.evidence.add({"seconds", seconds});
    out.text += fmt::format(" in {} s of training", significant(seconds, 3));
  }
  if (cell.rate.known()) {  // no step of a run that was shorter than skip_steps is measured
    out.evidence.add({"rate", cell.rate.value});
    out.text += fmt::format(", {} {}", significant(cell.rate.value), study.rate_unit());
  }
  out.text += " on " + ranks_text(least_ranks, run.ranks);
  if (cell.status != CellStatus::complete) {
    out.evidence.add({"run_steps", run.num_steps});
    out.text += fmt::format(" (the run was {} after {})", text_of(cell.status), counted(run.num_steps, "step"));
  }
  out.text += ".";
  return out;
}

}  // namespace multicard::post
