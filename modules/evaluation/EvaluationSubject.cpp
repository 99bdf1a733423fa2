#include "evaluation/EvaluationSubject.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/Log.hpp"
#include "base/NearPath.hpp"
#include "comm/Agreement.hpp"
#include "config/DeckKind.hpp"
#include "config/Smoke.hpp"
#include "data/shards/ClassNames.hpp"
#include "io/Glob.hpp"
#include "state/CheckpointStore.hpp"
#include "state/PeftAdapter.hpp"
#include "tasks/images/ImageNetwork.hpp"
#include "tasks/setup/DeckBroadcast.hpp"

namespace multicard {

namespace fs = std::filesystem;

namespace {

/// A checkpoint and what its trainer.json says.
struct KnownCheckpoint {
  explicit KnownCheckpoint(const std::string& path) : folder(path), state(CheckpointStore::read_state(path)) {}

  std::string folder;
  TrainerState state;
};

/// Whether an override sets `key`, by itself or in a map of several.
bool overrides_key(const EvaluationRequest& request, const std::string& key) {
  const Deck::Assignments layer = parse_overrides(request.overrides);
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
  // A run's folder may have been moved or renamed since its deck was stored.
  const fs::path folder = fs::absolute(checkpoint.folder).lexically_normal().parent_path();
  if (folder.filename() == "checkpoints") put(deck, "run.output", folder.parent_path().string());
  return deck;
}

/// What model.weights names where an override sets it; else the checkpoint given, else the newest of the output, else
/// what model.weights of the deck names. None where that is a file.
std::optional<KnownCheckpoint> choose_checkpoint(const EvaluationRequest& request, const RunOptions& options,
                                                 const std::optional<KnownCheckpoint>& given) {
  const std::optional<std::string>& weights = options.model.weights;
  if (!weights || !overrides_key(request, "model.weights")) {
    if (given) return given;
    const CheckpointStore store(options.run.output, options.run.keep_checkpoints);
    if (const auto newest = store.newest()) return KnownCheckpoint(*newest);
  }
  if (weights && fs::is_directory(*weights)) return KnownCheckpoint(*weights);
  return std::nullopt;
}

/// The weights of a checkpoint, averaged unless the deck wants none; without one, those of model.weights.
void choose_weights(EvaluationSubject& subject, const RunOptions& options,
                    const std::optional<KnownCheckpoint>& checkpoint) {
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
  // An evaluation may be published: it is worth the reading of all files once more.
  CheckpointStore::verify(checkpoint->folder);
  const std::string averaged = CheckpointStore::average_file(checkpoint->folder);
  const bool is_averaged = options.run.ema_decay > 0 && fs::exists(averaged);
  const std::string adapters = (fs::path(checkpoint->folder) / kAdapterFile).string();
  const std::string trained = fs::exists(adapters) ? adapters : CheckpointStore::model_file(checkpoint->folder);
  subject.weights = is_averaged ? averaged : trained;
  subject.origin = fmt::format("checkpoint of step {}{}", checkpoint->state.step,
                               is_averaged ? ", moving average of its weights" : "");
}

/// Where the deck leaves it to the run: as the run that wrote the checkpoint. Copies are of no use here, and the ranks
/// may be on other nodes.
void choose_shard(EvaluationSubject& subject, const RunOptions& options,
                  const std::optional<KnownCheckpoint>& checkpoint) {
  if (options.parallel.shard != Shard::automatic) return;
  std::string shard = "none";
  if (checkpoint && checkpoint->state.text.contains(kChosenShard)) shard = checkpoint->state.text.at(kChosenShard);
  put(subject.deck, "parallel.shard", shard == "hybrid" ? "full" : shard);
}

/// Pixels are normalised as in the training: as the deck says, else with the checkpoint's numbers, else with those of
/// the training shards. Only the last needs the shards.
void choose_normalisation(EvaluationSubject& subject, const EvaluationRequest& request, const RunOptions& options,
                          const std::optional<KnownCheckpoint>& checkpoint) {
  if (checkpoint && !options.data.normalize && !overrides_key(request, "data.normalize"))
    subject.normalize = pixel_statistics_from(checkpoint->state.extra);
  // An evaluation needs no training shards; where they are gone, those of the test stand in for the reader of options.
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
EvaluationSubject find_subject(const EvaluationRequest& request) {
  check_checkpoint_exists(request.source);
  const std::optional<KnownCheckpoint> given = given_checkpoint(request.source);
  EvaluationSubject subject;
  subject.deck = given ? deck_of(*given) : load_run_deck(request.source);
  subject.deck.apply(parse_overrides(request.overrides));
  check_kind(subject.deck, DeckKind::run);
  const RunOptions options = read_run_options(subject.deck);
  if (!options.data.test)
    throw UsageError(fmt::format("deck {}, data.test: there is nothing to evaluate on", subject.deck.name()),
                     "it is not set", "Name the test shards, e.g. data.test=data/fashion/test*.h5.");
  const std::optional<KnownCheckpoint> checkpoint = choose_checkpoint(request, options, given);
  choose_shard(subject, options, checkpoint);
  choose_weights(subject, options, checkpoint);
  choose_normalisation(subject, request, options, checkpoint ? checkpoint : given);
  if (options.is_language()) return subject;
  subject.class_names = classes_of_weights(subject.weights);
  if (subject.class_names.empty() && subject.deck.get_text("data.train") == *options.data.test)
    log_warning("the classes that the model was trained on are unknown: labels are taken as they are");
  return subject;
}

/// Collective. Everybody receives rank 0's values.
std::vector<double> share(const Communicator& world, std::vector<double> values) {
  // The length first: other ranks hold none of them yet.
  values.resize(world.broadcast_value(values.size()));
  world.broadcast(std::span(values));
  return values;
}

}  // namespace

EvaluationSubject find_evaluation_subject(const EvaluationRequest& request, const Communicator& world) {
  EvaluationSubject subject;
  // Rank 0 alone looks at files and decides; the others might see another state of them.
  subject.deck = share_deck(world, request.source, [&] {
    subject = find_subject(request);
    return subject.deck;
  });
  subject.weights = world.broadcast(subject.weights);
  subject.origin = world.broadcast(subject.origin);
  subject.class_names = classes_of_text(world.broadcast(text_of_classes(subject.class_names)));
  const PixelStatistics found = subject.normalize.value_or(PixelStatistics{});
  const PixelStatistics shared{share(world, found.mean), share(world, found.std)};
  if (!shared.mean.empty()) subject.normalize = shared;
  return subject;
}

RunOptions evaluation_options(const EvaluationSubject& subject) {
  RunOptions options = read_run_options(subject.deck);
  if (subject.normalize) options.data.normalize = subject.normalize;
  options.model.class_names = subject.class_names;
  // The weights come from the file that was found. All rows count, and nothing is trained that could be frozen.
  options.model.weights.reset();
  options.model.freeze.clear();
  options.data.drop_last = false;
  return options;
}

}  // namespace multicard
