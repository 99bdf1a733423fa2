// How well the model of a step's time describes published measurements, as a markdown table of mean absolute errors in
// percent: fitted to all rows of a data set (in-sample), to rows of other sets of GPUs (5-fold cross-validation by
// set), and to at most 8 GPUs, tested on 16 and more. Compared with the published form of Pollux. `interval`: share of
// the rows of 9 to 16 GPUs within the 95 % interval of the model that was fitted to at most 8. For ElasticFlow, whose
// tables are small, the fit is to at most 16 GPUs, and 32 and 64 are predicted.
//   model_bench DIR      with DIR/pollux/traces/*/{placements,scalability}.csv and DIR/{rubick,elasticflow}/*.csv
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <tuple>

#include "base/Clock.hpp"
#include "base/Error.hpp"
#include "published/MeasuredTables.hpp"
#include "published/PolluxForm.hpp"
#include "scheduling/model/FittedModel.hpp"
#include "scheduling/model/StepTimeModel.hpp"

namespace {

using namespace multicard;
using Observations = std::vector<StepObservation>;

Observations only(const Observations& all, const std::function<bool(const StepPoint&)>& chosen) {
  Observations result;
  for (const StepObservation& observation : all)
    if (chosen(observation.at)) result.push_back(observation);
  return result;
}

double error_of(const StepTimeModel& form, const Observations& fitted, const Observations& tested) {
  return mean_absolute_error(form, fit(form, fitted).values, tested);
}

/// The published form has no robust loss.
double error_of(const PolluxForm& form, const Observations& fitted, const Observations& tested) {
  FitOptions options;
  options.robust_scale = 100;
  return mean_absolute_error(form, fit(form, fitted, options).values, tested);
}

/// Sets of GPUs in five groups: each is predicted from the other four.
double cross_validated(const StepTimeModel& form, const Observations& all) {
  const auto group = [](const StepPoint& at) {
    return (at.gpus * 7 + at.nodes * 3 + at.max_per_node + at.tensor_parallel * 5 + at.pipeline_stages * 11) % 5;
  };
  double sum = 0;
  for (int fold = 0; fold < 5; ++fold) {
    const Observations tested = only(all, [&](const StepPoint& at) { return group(at) == fold; });
    const Observations others = only(all, [&](const StepPoint& at) { return group(at) != fold; });
    if (!tested.empty() && !others.empty()) sum += error_of(form, others, tested) * static_cast<double>(tested.size());
  }
  return sum / static_cast<double>(all.size());
}

double share_within(const FittedModel& model, const Observations& tested) {
  double within = 0;
  for (const StepObservation& observation : tested) {
    const Prediction prediction = model.predict(observation.at);
    if (observation.seconds >= prediction.low && observation.seconds <= prediction.high) ++within;
  }
  return within / static_cast<double>(tested.size());
}

/// What a model is fitted to, and what it then predicts: errors of `large`, coverage of `next`.
struct Extrapolation {
  Observations small, large, next;
};

void print_row(const std::string& name, const Observations& all, const Extrapolation& parts) {
  const auto ours = std::make_shared<StepTimeModel>();
  const PolluxForm published;
  const TimePoint start = SteadyClock::now();
  const double in_sample = error_of(*ours, all, all);
  const double seconds = seconds_since(start);
  const FittedModel model(ours, parts.small);
  std::printf("| %s | %zu | %.1f | %.1f | %.1f | %.1f | %.1f | %.0f | %.2f |\n", name.c_str(), all.size(),
              100 * in_sample, 100 * error_of(published, all, all), 100 * cross_validated(*ours, all),
              100 * mean_absolute_error(*ours, model.fitted().values, parts.large),
              100 * error_of(published, parts.small, parts.large), 100 * share_within(model, parts.next), seconds);
}

void pollux_row(const std::string& folder, const std::string& name) {
  Observations all = read_pollux_table(folder + "/placements.csv");
  for (const StepObservation& observation : read_pollux_table(folder + "/scalability.csv"))
    all.push_back(observation);
  const Observations small = only(all, [](const StepPoint& at) { return at.gpus <= 8; });
  const Observations large = only(all, [](const StepPoint& at) { return at.gpus >= 16; });
  const Observations next = only(all, [](const StepPoint& at) { return at.gpus > 8 && at.gpus <= 16; });
  print_row("pollux " + name, all, {small, large, next});
}

void rubick_row(const std::string& path, const std::string& name) {
  const StepTimeModel ours;
  const PolluxForm published;
  double num_rows = 0;
  double in_sample = 0;
  double theirs = 0;
  double validated = 0;
  const TimePoint start = SteadyClock::now();
  for (const auto& [plan, curve] : read_rubick_table(path)) {
    const auto rows = static_cast<double>(curve.size());
    num_rows += rows;
    in_sample += rows * error_of(ours, curve, curve);
    theirs += rows * error_of(published, curve, curve);
    validated += rows * cross_validated(ours, curve);
  }
  std::printf("| rubick %s | %.0f | %.1f | %.1f | %.1f | | | | %.2f |\n", name.c_str(), num_rows,
              100 * in_sample / num_rows, 100 * theirs / num_rows, 100 * validated / num_rows, seconds_since(start));
}

/// Few rows of other machines, which had no say in the formula.
void elasticflow_row(const std::string& path, const std::string& name) {
  const Observations all = read_elasticflow_table(path);
  const Observations small = only(all, [](const StepPoint& at) { return at.gpus <= 16; });
  const Observations large = only(all, [](const StepPoint& at) { return at.gpus > 16; });
  print_row("elasticflow " + name, all, {small, large, large});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: model_bench DIR\n");
    return EXIT_FAILURE;
  }
  const std::string folder = argv[1];
  try {
    std::printf(
        "| data | rows | in-sample | Pollux's form | cross-validated | <= 8 to >= 16 GPUs | Pollux's form | "
        "interval | fit (s) |\n|---|---|---|---|---|---|---|---|---|\n");
    for (const char* name : {"bert", "cifar10", "deepspeech2", "imagenet", "ncf", "yolov3"})
      pollux_row(folder + "/pollux/traces/" + name, name);
    for (const char* name : {"vit", "roberta", "bert", "t5", "gpt2", "llama7"})
      rubick_row(folder + "/rubick/" + name + ".csv", name);
    for (const char* name : {"bert", "gpt2", "inception3", "resnet50", "vgg16"})
      elasticflow_row(folder + "/elasticflow/" + name + ".csv", name);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
