#include <algorithm>
#include <cmath>
#include <filesystem>

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "Commands.hpp"
#include "EvalFile.hpp"
#include "EvalLanguage.hpp"
#include "Runs.hpp"
#include "base/Clock.hpp"
#include "base/JsonText.hpp"
#include "base/Log.hpp"
#include "base/NearPath.hpp"
#include "base/StandardOutput.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "config/DeckKind.hpp"
#include "data/PixelStatistics.hpp"
#include "io/Glob.hpp"
#include "state/CheckpointStore.hpp"
#include "state/PeftAdapter.hpp"
#include "state/TensorFile.hpp"
#include "tasks/ImageTask.hpp"
#include "tasks/RankSetup.hpp"

namespace multicard {

namespace fs = std::filesystem;

namespace {

/// What is evaluated, as rank 0 found it.
struct Subject {
  Deck deck;
  std::string weights;                       ///< safetensors file
  std::string origin;                        ///< what the file is, in words
  std::optional<PixelStatistics> normalize;  ///< of the pixels, where neither deck nor training shards say it
};

/// A checkpoint and what its trainer.json says.
struct KnownCheckpoint {
  explicit KnownCheckpoint(const std::string& path) : folder(path), state(CheckpointStore::read_state(path)) {}

  std::string folder;
  TrainerState state;
};

/// Whether an override sets `key`, by itself or in a map of several.
bool overrides_key(const EvalArguments& arguments, const std::string& key) {
  const Deck::Assignments layer = parse_overrides(arguments.overrides);
  return std::any_of(layer.begin(), layer.end(), [&](const auto& assignment) {
    const auto& [path, value] = assignment;
    return path == key || (key.starts_with(path + ".") && value.find_path(key.substr(path.size() + 1)) != nullptr);
  });
}

void put(Deck& deck, const std::string& key, const std::string& text) {
  deck.apply({{key, Value::scalar(text, Value::Quoting::quoted)}});
}

/// The checkpoint that is named in place of a deck.
std::optional<KnownCheckpoint> given_checkpoint(const std::string& source) {
  if (!fs::is_directory(source)) return std::nullopt;
  return KnownCheckpoint(fs::path(source + "/").parent_path().string());
}

/// The deck of a checkpoint. Its output is where the checkpoint lies now.
Deck deck_of(const KnownCheckpoint& checkpoint) {
  Deck deck = Deck::parse(checkpoint.state.deck, checkpoint.folder);
  const fs::path folder = fs::absolute(checkpoint.folder).lexically_normal().parent_path();
  if (folder.filename() == "checkpoints") put(deck, "run.output", folder.parent_path().string());
  return deck;
}

/// What model.weights names where an override sets it; else the checkpoint given, else the newest of the output, else
/// what model.weights of the deck names. None where that is a file.
std::optional<KnownCheckpoint> choose_checkpoint(const EvalArguments& arguments, const RunOptions& options,
                                                 const std::optional<KnownCheckpoint>& given) {
  const std::optional<std::string>& weights = options.model.weights;
  if (!weights || !overrides_key(arguments, "model.weights")) {
    if (given) return given;
    const CheckpointStore store(options.run.output, options.run.keep_checkpoints);
    if (const auto newest = store.newest()) return KnownCheckpoint(*newest);
  }
  if (weights && fs::is_directory(*weights)) return KnownCheckpoint(*weights);
  return std::nullopt;
}

/// The weights of a checkpoint, averaged unless the deck wants none; without one, those of model.weights.
void choose_weights(Subject& subject, const RunOptions& options, const std::optional<KnownCheckpoint>& checkpoint) {
  if (!checkpoint && options.is_language()) {
    subject.origin = options.model.adapter ? "adapter " + *options.model.adapter : "base model";
    return;
  }
  if (!checkpoint && !options.model.weights)
    throw DataError(fmt::format("{} has no complete checkpoint", options.run.output), "there is nothing to evaluate",
                    "Train first, name a checkpoint, or set model.weights.");
  if (!checkpoint) {
    subject.weights = *options.model.weights;
    subject.origin = "model.weights";
    return;
  }
  CheckpointStore::verify(checkpoint->folder);
  const std::string averaged = CheckpointStore::average_file(checkpoint->folder);
  const bool is_averaged = options.run.ema_decay > 0 && fs::exists(averaged);
  const std::string adapters = (fs::path(checkpoint->folder) / kAdapterFile).string();
  const std::string trained = fs::exists(adapters) ? adapters : CheckpointStore::model_file(checkpoint->folder);
  subject.weights = is_averaged ? averaged : trained;
  subject.origin = fmt::format("checkpoint of step {}{}", checkpoint->state.step,
                               is_averaged ? ", moving average of its weights" : "");
}

/// Pixels are normalised as in the training: as the deck says, else with the checkpoint's numbers, else with those of
/// the training shards. Only the last needs the shards.
void choose_normalisation(Subject& subject, const EvalArguments& arguments, const RunOptions& options,
                          const std::optional<KnownCheckpoint>& checkpoint) {
  if (checkpoint && !options.data.normalize && !overrides_key(arguments, "data.normalize"))
    subject.normalize = pixel_statistics_from(checkpoint->state.extra);
  const std::optional<Error> missing = error_of([&] {
    for (const std::string& files : options.data.training_files())
      expand_glob(files);
  });
  if (!missing) return;
  if (!options.is_language() && !options.data.normalize && !subject.normalize)
    throw DataError(missing->problem(), "the mean and the deviation of the pixels come from the training shards",
                    "Set data.train, or data.normalize to the values of the training.");
  put(subject.deck, "data.train", *options.data.test);
}

/// UsageError when what is to be evaluated does not exist and is not named as a deck is: then it is a checkpoint.
void check_checkpoint_exists(const std::string& source) {
  const std::string extension = fs::path(source).extension().string();
  if (fs::exists(source) || extension == ".yaml" || extension == ".yml") return;
  throw UsageError(fmt::format("{} does not exist", source), "a deck or the folder of a checkpoint is expected",
                   did_you_mean(source, "Checkpoints are in OUTPUT/checkpoints/step_... of a run."));
}

/// For one process.
Subject find_subject(const EvalArguments& arguments) {
  check_checkpoint_exists(arguments.source);
  const std::optional<KnownCheckpoint> given = given_checkpoint(arguments.source);
  Subject subject;
  subject.deck = given ? deck_of(*given) : load_run_deck(arguments.source);
  subject.deck.apply(parse_overrides(arguments.overrides));
  check_kind(subject.deck, DeckKind::run);
  const RunOptions options = read_run_options(subject.deck);
  if (!options.data.test)
    throw UsageError(fmt::format("deck {}, data.test: there is nothing to evaluate on", subject.deck.name()),
                     "it is not set", "Name the test shards, e.g. data.test=data/fashion/test*.h5.");
  const std::optional<KnownCheckpoint> checkpoint = choose_checkpoint(arguments, options, given);
  choose_weights(subject, options, checkpoint);
  choose_normalisation(subject, arguments, options, checkpoint ? checkpoint : given);
  return subject;
}

/// Collective. Everybody receives rank 0's values.
std::vector<double> share(const Communicator& world, std::vector<double> values) {
  values.resize(world.broadcast_value(values.size()));
  world.broadcast(std::span(values));
  return values;
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
  const PixelStatistics found = subject.normalize.value_or(PixelStatistics{});
  const PixelStatistics shared{share(world, found.mean), share(world, found.std)};
  if (!shared.mean.empty()) subject.normalize = shared;
  return subject;
}

/// The deck's options, less what only training needs.
RunOptions evaluation_options(const Subject& subject) {
  RunOptions options = read_run_options(subject.deck);
  if (subject.normalize) options.data.normalize = subject.normalize;
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
  summary.text = {{"task", std::string(word_of(options.task, kTaskWords))},
                  {"model", options.model.name},
                  {"precision", std::string(word_of(options.precision, kPrecisionWords))},
                  {"layout", std::string(word_of(options.data.layout, kLayoutWords))},
                  {"pipeline", std::string(word_of(options.data.pipeline, kPipelineWords))},
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

}  // namespace

ExitCode eval_command(const EvalArguments& arguments, const Communicator& world) {
  const Subject subject = share_subject(arguments, world);
  const RunOptions options = agreed(world, [&] { return evaluation_options(subject); });
  const std::string results = evaluation_file(arguments, options);
  require_evaluation(results, world);
  log_heading("eval", arguments.source);
  log_info(fmt::format("{:<10}{} ({})", "weights", subject.weights.empty() ? options.model.path : subject.weights,
                       subject.origin));
  if (options.is_language())
    return eval_language(arguments, {options, subject.deck, subject.weights, subject.origin}, results, world);
  const Topology topology = find_topology(world);
  const ComputeSettings settings(options, world, topology);
  const DeviceChoice device = set_up_device(options, world, topology);
  ImageTask task(options, world, device.device, nullptr);
  agreed(world, [&] {
    const at::NoGradGuard no_grad;
    copy_into(task.classifier().network().state(), TensorFile(subject.weights));
  });

  const TimePoint start = SteadyClock::now();
  const ImageScores scores = task.score_test_set(Detail::classes);
  const double seconds = seconds_since(start);
  check_test_loss(scores.totals.loss, subject.weights);
  std::vector<std::string> names = task.test_set()->info().class_names;
  for (auto label = static_cast<std::int64_t>(names.size()); label < task.classifier().num_classes(); ++label)
    names.push_back(fmt::format("class {}", label));  // outputs of the model that the shards have no images of
  const std::vector<ClassScore> classes = class_scores(scores.confusion, task.classifier().num_classes());
  RunSummary summary = summarise(options, subject, world, device, scores);
  summary.tables = {{"evaluation/classes", classes_table(classes, names)},
                    {"evaluation/confusion", confusion_table(scores.confusion)}};
  write_evaluation(results, arguments, summary, world);

  const ImageTotals& totals = scores.totals;
  log_classes(classes, names, results);
  log_info(fmt::format("{:<10}accuracy {}, top-5 {}, loss {} ({} images, {})", "test", significant(totals.accuracy),
                       significant(totals.top5), significant(totals.loss), grouped(totals.samples),
                       human_duration(seconds)));
  log_results(results);
  if (arguments.json && world.is_root())
    print(
        json_text(nlohmann::ordered_json{
            {"loss", totals.loss}, {"accuracy", totals.accuracy}, {"top5", totals.top5}, {"samples", totals.samples}}) +
        "\n");
  return ExitCode::complete;
}

}  // namespace multicard
