#include "tasks/options/RunOptions.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <stdexcept>

#include <fmt/format.h>

#include "config/Section.hpp"

namespace multicard {

namespace {

KeyTasks key_task(TaskName task) {
  return task == TaskName::llm ? KeyTasks::llm : KeyTasks::image;
}

/// The precision that computes in the type of frozen weights.
Precision precision_of(WeightDtype dtype) {
  switch (dtype) {
    case WeightDtype::fp64:
      return Precision::fp64;
    case WeightDtype::fp32:
      return Precision::fp32;
    case WeightDtype::fp16:
      return Precision::fp16;
    case WeightDtype::bf16:
      break;
  }
  return Precision::bf16;
}

/// bfloat16 has 8 bits of mantissa: what adds up small shares of it stands still.
/// Half a unit in its last place is 2^-9 of a value: smaller additions are lost, and an average with a decay near 1
/// makes only such.
void check_trained_in_bf16(Section& root, const RunOptions& options) {
  if (options.model.trainable_dtype != WeightDtype::bf16) return;
  if (options.precision == Precision::fp64 || options.precision == Precision::fp16)
    root.section("model").reject("trainable_dtype", "bf16 is for precision bf16, tf32 and fp32",
                                 fmt::format("precision is {}", word_of(options.precision, kPrecisionWords)),
                                 "Set it to fp32.");
  if (options.parallel.measures_dtype)
    root.section("parallel")
        .reject("gradient_dtype", "measured chooses between float32 and bf16",
                "model.trainable_dtype is bf16, and so are gradients", "Set it to same.");
  if (options.parallel.gradient_dtype == CommDtype::fp16)
    root.section("parallel")
        .reject("gradient_dtype", "fp16 is for float32 gradients", "model.trainable_dtype is bf16, and so are they",
                "Set it to same.");
  if (options.run.ema_decay > 0)
    root.section("run").reject("ema_decay", "an average in bfloat16 would not change", "model.trainable_dtype is bf16",
                               "Set only one of them.");
}

/// Times decide, which no two runs share.
void check_measured(Section& root, const RunOptions& options) {
  if (!options.run.deterministic) return;
  const auto refuse = [&](const char* key, const char* instead) {
    root.section("parallel")
        .reject(key, "measured depends on the time of steps", "run.deterministic is true",
                fmt::format("Set it to {}, or to what another run has measured.", instead));
  };
  if (options.parallel.measures_bucket) refuse("bucket_mb", "auto");
  if (options.parallel.measures_dtype) refuse("gradient_dtype", "same");
}

/// Each rank needs the sums of all factors, and float32 or float64 to add up small errors.
void check_powersgd(Section& root, const RunOptions& options) {
  if (options.parallel.powersgd_rank == 0) return;
  if (options.parallel.measures())
    root.section("parallel")
        .reject("powersgd_rank", "the factors of a bucket are sent together, in one type",
                "bucket_mb or gradient_dtype is measured", "Set both to fixed values.");
  if (options.parallel.strategy == StrategyName::dp)
    root.section("parallel")
        .reject("powersgd_rank", "gradients are compressed where all ranks receive their sum",
                "parallel.strategy is dp, which sums to rank 0", "Set parallel.strategy=ddp-ds or ddp.");
  if (options.is_language() && options.model.trainable_dtype == WeightDtype::bf16)
    root.section("parallel")
        .reject("powersgd_rank", "is for float32 and float64 gradients",
                "model.trainable_dtype is bf16, and so are they", "Set it to 0, or model.trainable_dtype=fp32.");
}

using Refuse = std::function<void(const std::string& why, const char* instead)>;

/// Buckets are cut once, and each rank's part of them with it.
void check_split_state(const RunOptions& options, const Refuse& refuse) {
  if (options.parallel.measures_bucket || options.parallel.measures_dtype)
    refuse("parallel.bucket_mb or parallel.gradient_dtype is measured, which changes the buckets",
           "Set both to values, or leave them out.");
  if (options.parallel.powersgd_rank > 0)
    refuse("parallel.powersgd_rank compresses sums that all ranks need", "Set parallel.powersgd_rank=0.");
  if (!options.is_language() && options.optimizer.name == OptimizerName::adamw8bit)
    refuse(
        "optimizer.name is adamw8bit, whose quantisation blocks follow the order of files, not that of images' weights",
        "Set optimizer.name=adamw.");
}

void check_split_weights(const RunOptions& options, Shard shard, const Refuse& refuse) {
  if (options.is_language() && options.method.has_adapters()) return;
  check_split_state(options, refuse);
  if (shard == Shard::hybrid && options.parallel.sync_batch_norm)
    refuse("parallel.sync_batch_norm sums over all ranks while groups of them gather", "Set parallel.shard=full.");
  if (options.run.ema_decay > 0)
    refuse("run.ema_decay keeps an average of all weights", "Set run.ema_decay=0, or parallel.shard=optimizer.");
}

void check_shard(const RunOptions& options, Shard shard, const Refuse& refuse) {
  if (options.parallel.strategy != StrategyName::ddp_ds)
    refuse(fmt::format("parallel.strategy is {}", word_of(options.parallel.strategy, kStrategyWords)),
           "Set parallel.strategy=ddp-ds.");
  if (shard == Shard::optimizer)
    check_split_state(options, refuse);
  else if (shard == Shard::full || shard == Shard::hybrid)
    check_split_weights(options, shard, refuse);
}

/// What every rank would have to do alike: weights are gathered by passes of all ranks, and state is cut once.
void check_sharding(Section& root, const RunOptions& options) {
  const Shard shard = options.parallel.shard;
  if (options.parallel.shard_group && (shard == Shard::none || shard == Shard::automatic))
    root.section("parallel")
        .reject("shard_group", "there are no groups of ranks",
                fmt::format("parallel.shard is {}", word_of(shard, kShardWords)),
                "Leave it out, or set parallel.shard=hybrid.");
  if (shard == Shard::none) return;
  const std::string word(word_of(shard, kShardWords));
  const auto refuse = [&](const std::string& why, const char* instead) {
    root.section("parallel").reject("shard", fmt::format("{} is not possible with this deck", word), why, instead);
  };
  check_shard(options, shard, refuse);
}

/// Values that are right by themselves and wrong together.
void check_together(Section& root, const RunOptions& options) {
  check_sharding(root, options);
  check_trained_in_bf16(root, options);
  check_measured(root, options);
  check_powersgd(root, options);
  if (options.precision == Precision::fp64 &&
      (options.parallel.gradient_dtype != CommDtype::same || options.parallel.measures_dtype))
    root.section("parallel")
        .reject("gradient_dtype", "is for float32 gradients", "precision is fp64", "Set it to same.");
  if (options.method.is_preference() && options.data.packing)
    root.section("data").reject("packing", "is for sequences", "a row of preference pairs is one pair, without padding",
                                "Set it to false.");
  if (options.run.keep_best && !options.data.test)
    root.section("run").reject("keep_best", "there is nothing to evaluate on", "data.test is not set",
                               "Name the test shards.");
  if (options.run.keep_best && options.run.keep_checkpoints == 0)
    root.section("run").reject("keep_best", "no checkpoint is written", "run.keep_checkpoints is 0",
                               "Keep one or more.");
}

/// The sections that tasks read differently.
void read_task(Section& root, RunOptions& options) {
  Section model = root.section("model"), data = root.section("data"), parallel = root.section("parallel"),
          optimizer = root.section("optimizer"), evaluate = root.section("evaluate");
  if (options.is_language()) {
    Section method = root.section("method");
    options.model = read_language_model_options(model);
    options.method = read_method_options(method, options.model);
    options.data = read_text_data_options(data);
    options.parallel = read_parallel_options(parallel, HasBatchNorm::no);
    options.optimizer = read_optimizer_options(optimizer, HasClasses::no);
    options.precision = precision_of(options.model.dtype);
  } else {
    options.model = read_image_model_options(model);
    options.data = read_image_data_options(data);
    options.parallel = read_parallel_options(parallel, HasBatchNorm::yes);
    options.optimizer = read_optimizer_options(optimizer, HasClasses::yes);
  }
  options.evaluate = read_evaluate_options(evaluate, options.data.test ? HasTestData::yes : HasTestData::no,
                                           options.is_language() ? GeneratesText::yes : GeneratesText::no);
}

/// Reads everything and throws nothing.
/// The first error is kept in the root section and is thrown by finish(), after unknown keys: a misspelt key often
/// causes the other error. Everything is read nevertheless, so that all keys and their defaults are known.
RunOptions read(Section& root, const Deck& deck) {
  RunOptions options;
  options.task = root.choice("task", options.task, kTaskWords);
  reject_keys_of_other_tasks(root, deck, run_keys(), key_task(options.task));
  reject_reserved_values(root, deck, run_keys());
  read_task(root, options);
  options.precision = root.choice("precision", options.precision, kPrecisionWords);
  Section schedule = root.section("schedule"), run = root.section("run"), profile = root.section("profile");
  options.schedule = read_schedule_options(schedule);
  options.run = read_run_settings(run);
  options.profile = read_profile_options(profile);
  check_together(root, options);
  return options;
}

DeckKeys top_keys() {
  return {{"task", KeyTasks::any, KeyEffect::identity, "task",
           "what is trained: `image`, a classifier, or `llm`, a language model"}};
}

/// Place of a key's section in the documents.
std::size_t place_of(const DeckKey& key) {
  constexpr std::string_view kSections[] = {"model",    "method", "data",     "parallel", "optimizer",
                                            "schedule", "run",    "evaluate", "profile"};
  const std::string_view section = key.path.substr(0, key.path.find('.'));
  const bool is_top = section == key.path;
  return is_top ? 0 : 1 + (std::find(std::begin(kSections), std::end(kSections), section) - std::begin(kSections));
}

/// The same values in the order of the documents, whatever the order in which they were read.
Deck in_order_of_keys(const Deck& deck) {
  Deck ordered = Deck::parse("", deck.name());
  Deck::Assignments values;
  for (const DeckKey& key : run_keys())
    if (const Value* value = deck.root().find_path(key.path)) values.emplace_back(key.path, *value);
  ordered.apply(values);
  return ordered;
}

/// Decks that have a value wherever a key is read under a condition only.
const std::map<TaskName, const char*> kDecksWithEverything{
    {TaskName::image, "{data: {normalize: {mean: 0, std: 1}}, run: {micro_batch: auto}}"},
    {TaskName::llm, "{task: llm, model: {path: m}, data: {train: t.h5}, evaluate: {questions: {file: q.jsonl}}}"}};

}  // namespace

RunOptions read_run_options(const Deck& deck) {
  Section root(deck, known_keys(run_keys()));
  RunOptions options = read(root, deck);
  root.finish();
  return options;
}

Deck with_defaults(const Deck& deck) {
  Section root(deck, known_keys(run_keys()));
  read(root, deck);
  root.finish();
  return in_order_of_keys(root.resolved());
}

const DeckKeys& run_keys() {
  static const DeckKeys keys = [] {
    DeckKeys all =
        concatenated({top_keys(), model_keys(), data_keys(), parallel_keys(), exchange_keys(), compute_keys(),
                      optimizer_keys(), run_settings_keys(), evaluate_keys(), profile_keys()});
    std::stable_sort(all.begin(), all.end(),
                     [](const DeckKey& a, const DeckKey& b) { return place_of(a) < place_of(b); });
    return all;
  }();
  return keys;
}

// The description is what the readers themselves noted about type and default; a key without a row, or a row without a
// reader, is a defect of the program and is found by every call, not only by a run that uses the key.
std::vector<DescribedKey> describe_run_keys() {
  std::map<std::string, KeyReading> readings;
  for (const auto& [task, text] : kDecksWithEverything) {
    const Deck deck = Deck::parse(text, "keys");
    Section root(deck);
    read(root, deck);
    readings.insert(root.readings().begin(), root.readings().end());
  }
  for (const auto& [path, reading] : readings)
    if (!find_key(run_keys(), path)) throw std::logic_error(fmt::format("the key {} has no row", path));
  std::vector<DescribedKey> described;
  for (const DeckKey& key : run_keys()) {
    const auto found = readings.find(std::string(key.path));
    if (found == readings.end()) throw std::logic_error(fmt::format("the key {} is never read", key.path));
    KeyReading reading = found->second;
    if (!key.notes.fallback.empty()) reading.fallback = key.notes.fallback;
    described.push_back({key, reading});
  }
  return described;
}

bool splits_trained_blocks(const RunOptions& options) {
  return options.is_language() && !options.method.has_adapters() && options.run.ema_decay == 0;
}

bool can_be_split(const RunOptions& options, Shard shard) {
  bool can = true;
  check_shard(options, shard, [&](const std::string&, const char*) { can = false; });
  return can;
}

}  // namespace multicard
