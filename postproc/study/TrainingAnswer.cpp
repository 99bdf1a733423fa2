#include "postproc/study/TrainingAnswer.hpp"

#include <optional>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/Ranking.hpp"
#include "postproc/study/RunningMedian.hpp"

namespace multicard::post {

namespace {

/// "from 1.19 to 0.83", or the last value alone where nothing was measured before the first step.
std::string change_text(const Change& change, Numbers& numbers) {
  numbers.add("after", change.after);
  if (!change.known()) return significant(change.after);
  numbers.add("before", change.before);
  return fmt::format("from {} to {}", significant(change.before), significant(change.after));
}

/// "Test loss from 1.19 to 0.83": of what a tuning measured.
std::string tuning_text(const TuningReport& tuning, Numbers& numbers) {
  if (tuning.reward_accuracy.after == tuning.reward_accuracy.after)
    return "Preference accuracy " + change_text(tuning.reward_accuracy, numbers);
  if (tuning.loss.after == tuning.loss.after) return "Test loss " + change_text(tuning.loss, numbers);
  return {};
}

std::string train_loss_text(const RunReport& run, Numbers& numbers) {
  const auto found = run.metrics.find("train_loss");
  if (found == run.metrics.end() || !has_curve(found->second)) return {};
  const auto curve = running_median(found->second, window_for(found->second.values.size()));
  return "Training loss " + change_text({curve.front().second, curve.back().second}, numbers);
}

/// What the cell reached, by the first measure that it has; empty without any.
std::string result_text(const Study& study, const Cell& cell, const RunReport& run, Numbers& numbers) {
  if (cell.measured.size() == 1 && run.tuning)
    if (std::string text = tuning_text(*run.tuning, numbers); !text.empty()) return text;
  if (cell.test_accuracy.known()) {
    numbers.add("accuracy", cell.test_accuracy);
    return "Test accuracy " + with_interval(cell.test_accuracy);
  }
  if (cell.test_loss.known()) {
    numbers.add("loss", cell.test_loss);
    return "Test loss " + with_interval(cell.test_loss);
  }
  return study.runs.size() == 1 ? train_loss_text(run, numbers) : std::string();
}

/// The number of steps after which `metric` was last measured; unknown where it was not.
std::optional<std::int64_t> last_step(const RunReport& run, const char* metric) {
  const auto found = run.metrics.find(metric);
  if (found == run.metrics.end() || found->second.steps.empty()) return std::nullopt;
  return found->second.steps.back();
}

/// The steps behind the result: those at the last evaluation, or all.
std::int64_t steps_behind(const RunReport& run) {
  for (const char* metric : {"eval_accuracy", "eval_loss"})
    if (const auto step = last_step(run, metric); step && *step > 0) return *step;
  return run.num_steps;
}

}  // namespace

Statement training_statement(const Study& study) {
  if (study.cells.size() != 1 || study.cells.front().status == CellStatus::failed) return {};
  const Cell& cell = study.cells.front();
  const RunReport& run = cell.measured.empty() ? study.runs[cell.runs.front()] : representative(study, cell);
  Statement out{"training", {}};
  const std::string result = result_text(study, cell, run, out.numbers);
  if (result.empty()) return {};
  const std::int64_t steps = steps_behind(run);
  const int least_ranks = run.least_ranks > 0 ? run.least_ranks : run.ranks;
  out.numbers.add("steps", static_cast<double>(steps)).add("ranks", run.ranks).add("fewest_ranks", least_ranks);
  out.text = fmt::format("{} after {}", result, counted(steps, "step"));
  const auto seconds = run.epoch_seconds.find("train");
  if (seconds != run.epoch_seconds.end() && seconds->second > 0 && steps == run.num_steps) {
    out.numbers.add("seconds", seconds->second);
    out.text += fmt::format(" in {} s of training", significant(seconds->second, 3));
  }
  if (cell.rate.known()) {  // no step of a run that was shorter than skip_steps is measured
    out.numbers.add("rate", cell.rate.value);
    out.text += fmt::format(", {} {}", significant(cell.rate.value), study.rate_unit());
  }
  out.text += " on " + ranks_text(least_ranks, run.ranks);
  if (cell.status != CellStatus::complete) {
    out.numbers.add("run_steps", static_cast<double>(run.num_steps));
    out.text += fmt::format(" (the run was {} after {})", text_of(cell.status), counted(run.num_steps, "step"));
  }
  out.text += ".";
  return out;
}

}  // namespace multicard::post
