#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "Commands.hpp"
#include "Runs.hpp"
#include "base/Clock.hpp"
#include "base/Log.hpp"
#include "base/Text.hpp"
#include "comm/AbortOnSignal.hpp"
#include "comm/Agreement.hpp"
#include "io/Bytes.hpp"
#include "results/ResultsWriter.hpp"
#include "state/TensorFile.hpp"
#include "tasks/ImageTask.hpp"
#include "tasks/Normalisation.hpp"
#include "tasks/RankSetup.hpp"
#include "train/CheckpointStore.hpp"

namespace multicard {

namespace fs = std::filesystem;

namespace {

/// What is evaluated, as rank 0 found it.
struct Subject {
  Deck deck;
  std::string weights;  ///< safetensors file
  std::string origin;   ///< what the file is, in words
};

bool overrides_key(const EvalArguments& arguments, const std::string& key) {
  const auto is_key = [&](const std::string& text) { return text.starts_with(key + "="); };
  return std::any_of(arguments.overrides.begin(), arguments.overrides.end(), is_key);
}

void put(Deck& deck, const std::string& key, const std::string& text) {
  deck.apply({{key, Value::scalar(text, Value::Quoting::quoted)}});
}

/// The deck of a checkpoint. Its output is where the checkpoint lies now.
Deck deck_of_checkpoint(const std::string& checkpoint) {
  Deck deck = Deck::parse(CheckpointStore::read_state(checkpoint).deck, checkpoint);
  const fs::path folder = fs::absolute(checkpoint).lexically_normal().parent_path();
  if (folder.filename() == "checkpoints") put(deck, "run.output", folder.parent_path().string());
  const auto values = normalisation_from_numbers(CheckpointStore::read_state(checkpoint).extra);
  if (!values || !deck.get_text("data.normalize").empty()) return deck;
  const auto list = [](const std::vector<double>& numbers) {
    std::string text;
    for (const double number : numbers)
      text += fmt::format("{}{:.17g}", text.empty() ? "" : ", ", number);
    return text;
  };
  const std::string normalize =
      fmt::format("data.normalize={{mean: [{}], std: [{}]}}", list(values->mean), list(values->std));
  deck.apply(parse_overrides(std::vector<std::string>{normalize}));
  return deck;
}

/// Pixels are normalised with the training shards' mean and deviation unless the deck names others; then the shards can
/// be missing.
void allow_missing_training_shards(Deck& deck, const RunOptions& options) {
  const std::optional<Error> missing = error_of([&] { expand_glob(options.data.train); });
  if (!missing) return;
  if (!options.data.normalize)
    throw DataError(missing->problem(), "the mean and the deviation of the pixels come from the training shards",
                    "Set data.train, or data.normalize to the values of the training.");
  put(deck, "data.train", *options.data.test);
}

/// The averaged weights of a checkpoint, unless the deck wants none.
void choose_file(Subject& subject, const std::string& checkpoint, const RunOptions& options) {
  const std::int64_t step = CheckpointStore::read_state(checkpoint).step;
  CheckpointStore::verify(checkpoint);
  const std::string averaged = CheckpointStore::average_file(checkpoint);
  const bool is_averaged = options.run.ema_decay > 0 && fs::exists(averaged);
  subject.weights = is_averaged ? averaged : CheckpointStore::model_file(checkpoint);
  subject.origin = fmt::format("checkpoint of step {}{}", step, is_averaged ? ", moving average of its weights" : "");
}

/// For one process.
Subject find_subject(const EvalArguments& arguments) {
  const bool is_checkpoint = fs::is_directory(arguments.source);
  const std::string given = is_checkpoint ? fs::path(arguments.source + "/").parent_path().string() : "";
  Subject subject;
  subject.deck = is_checkpoint ? deck_of_checkpoint(given) : Deck::load(arguments.source);
  const std::string own_weights = subject.deck.get_text("model.weights");
  subject.deck.apply(parse_overrides(arguments.overrides));
  const bool names_weights =
      overrides_key(arguments, "model.weights") || subject.deck.get_text("model.weights") != own_weights;
  const RunOptions options = read_run_options(subject.deck);
  if (!options.data.test)
    throw UsageError(fmt::format("deck {}, data.test: there is nothing to evaluate on", subject.deck.name()),
                     "it is not set", "Name the test shards, e.g. data.test=data/fashion/test*.h5.");
  allow_missing_training_shards(subject.deck, options);
  const CheckpointStore store(options.run.output, options.run.keep_checkpoints);
  const std::optional<std::string> checkpoint = is_checkpoint ? given : store.newest();
  if (checkpoint && !names_weights) {
    choose_file(subject, *checkpoint, options);
  } else if (options.model.weights && fs::is_directory(*options.model.weights)) {
    choose_file(subject, *options.model.weights, options);
  } else if (options.model.weights) {
    subject.weights = *options.model.weights;
    subject.origin = "model.weights";
  } else {
    throw DataError(fmt::format("{} has no complete checkpoint", options.run.output), "there is nothing to evaluate",
                    "Train first, name a checkpoint, or set model.weights.");
  }
  return subject;
}

/// Collective.
Subject share_subject(const EvalArguments& arguments, const Communicator& world) {
  Subject subject;
  subject.deck = share_deck(world, arguments.source, [&] {
    subject = find_subject(arguments);
    return subject.deck;
  });
  subject.weights = world.broadcast(subject.weights);
  subject.origin = world.broadcast(subject.origin);
  return subject;
}

/// The deck's options, less what only training needs.
RunOptions evaluation_options(const Deck& deck) {
  RunOptions options = read_run_options(deck);
  options.model.weights.reset();
  options.model.freeze.clear();
  options.data.drop_last = false;
  return options;
}

std::string rate_cell(double rate) {
  return std::isnan(rate) ? "-" : fmt::format("{:.3f}", rate);
}

/// All classes, or those that are recognised worst.
void log_classes(const std::vector<ClassScore>& scores, const std::vector<std::string>& names,
                 const std::string& results) {
  constexpr std::size_t kMostLines = 20;
  std::vector<std::size_t> order(scores.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  if (scores.size() > kMostLines) {
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const double x = scores[a].recall(), y = scores[b].recall();
      return !std::isnan(x) && (std::isnan(y) || x < y);
    });
    order.resize(kMostLines);
    log_info(fmt::format("{:<10}the {} of {} with the lowest recall; {} has all", "classes", kMostLines, scores.size(),
                         results));
  }
  std::size_t width = 5;
  for (const std::size_t i : order)
    width = std::max(width, names[i].size());
  log_info(fmt::format("  {:<{}}  {:>9}  {:>9}  {:>6}  {:>5}", "class", width, "samples", "precision", "recall", "f1"));
  for (const std::size_t i : order)
    log_info(fmt::format("  {:<{}}  {:>9}  {:>9}  {:>6}  {:>5}", names[i], width, grouped(scores[i].samples),
                         rate_cell(scores[i].precision()), rate_cell(scores[i].recall()), rate_cell(scores[i].f1())));
}

/// The record of an evaluation (docs/evaluate.md).
RunSummary summarise(const RunOptions& options, const Subject& subject, const Communicator& world,
                     const DeviceChoice& device, const ImageScores& scores) {
  RunSummary summary;
  summary.name = "main";
  summary.text = {{"task", options.task},
                  {"model", options.model.name},
                  {"precision", options.precision},
                  {"layout", options.data.layout},
                  {"pipeline", options.data.pipeline},
                  {"device", device.description},
                  {"weights", subject.weights},
                  {"weights_origin", subject.origin},
                  {"deck", with_defaults(subject.deck).to_yaml()}};
  summary.integers = {{"ranks", world.size()},
                      {"global_batch", options.run.batch_over(world.size())},
                      {"image_size", options.data.image_size},
                      {"samples", scores.totals.samples}};
  summary.reals = {{"width", options.model.width},
                   {"loss", scores.totals.loss},
                   {"accuracy", scores.totals.accuracy},
                   {"top5", scores.totals.top5}};
  return summary;
}

void check_finite(double loss, const std::string& weights) {
  if (std::isfinite(loss)) return;
  throw NumericalError(fmt::format("the test loss of {} is {}", weights, loss),
                       "the weights hold values that are not finite, or the network overflows",
                       "Evaluate another checkpoint, or with precision=fp32.")
      .on_all_ranks();
}

}  // namespace

ExitCode eval_command(const EvalArguments& arguments, const Communicator& world) {
  const AbortOnSignal guard;
  const Subject subject = share_subject(arguments, world);
  const RunOptions options = agreed(world, [&] { return evaluation_options(subject.deck); });
  const std::string results =
      arguments.output.empty() ? (fs::path(options.run.output) / "eval.h5").string() : arguments.output;
  log_heading("eval", arguments.source);
  log_info(fmt::format("{:<10}{} ({})", "weights", subject.weights, subject.origin));
  const Topology topology = find_topology(world);
  const DeviceChoice device = set_up_rank(options, world, topology);
  set_compute_threads(std::nullopt, topology);
  ImageTask task(options, world, device.device, nullptr);
  agreed(world, [&] {
    const at::NoGradGuard no_grad;
    copy_into(task.network().state(), TensorFile(subject.weights));
  });

  const TimePoint start = SteadyClock::now();
  const ImageScores scores = task.score_test_set(Detail::classes);
  const double seconds = seconds_since(start);
  check_finite(scores.totals.loss, subject.weights);
  std::vector<std::string> names = task.test_set()->info().class_names;
  for (auto label = static_cast<std::int64_t>(names.size()); label < task.num_classes(); ++label)
    names.push_back(fmt::format("class {}", label));  // outputs of the model that the shards have no images of
  const std::vector<ClassScore> classes = class_scores(scores.confusion, task.num_classes());
  RunSummary summary = summarise(options, subject, world, device, scores);
  summary.tables = {{"evaluation/classes", classes_table(classes, names)},
                    {"evaluation/confusion", confusion_table(scores.confusion)}};
  write_results(results, world, full_provenance(world, arguments.command_line), summary, RankRows{});

  const ImageTotals& totals = scores.totals;
  log_classes(classes, names, results);
  log_info(fmt::format("{:<10}accuracy {}, top-5 {}, loss {} ({} images, {})", "test", significant(totals.accuracy),
                       significant(totals.top5), significant(totals.loss), grouped(totals.samples),
                       human_duration(seconds)));
  log_info(fmt::format("{:<10}{}        report: multicard-post {}", "results", results, results));
  if (arguments.json && world.is_root())
    std::cout << nlohmann::ordered_json{{"loss", totals.loss},
                                        {"accuracy", totals.accuracy},
                                        {"top5", totals.top5},
                                        {"samples", totals.samples}}
              << std::endl;
  return ExitCode::complete;
}

}  // namespace multicard
