#include "config/RunOptions.hpp"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "config/LanguageKeys.hpp"
#include "config/Section.hpp"
#include "config/Unavailable.hpp"

namespace multicard {

namespace {

constexpr std::int64_t kManySteps = std::numeric_limits<std::int64_t>::max();
constexpr double kAnyNumber = std::numeric_limits<double>::max();

ModelOptions read_image_model(Section section) {
  ModelOptions model;
  model.name = section.get("name", model.name);
  model.width = section.get_in_range("width", model.width, 0.05, 10.0);
  model.classes = section.optional_in_range("classes", 2, 1'000'000);
  model.dropout = section.optional_in_range("dropout", 0.0, kBelowOne);
  model.weights = section.optional_path("weights");
  model.freeze = section.list<std::string>("freeze", {});
  model.freeze_batch_norm = section.get("freeze_batch_norm", model.freeze_batch_norm);
  return model;
}

std::optional<NormalizeOptions> read_normalize(Section& data) {
  if (!data.has("normalize")) return std::nullopt;
  Section section = data.section("normalize");
  const NormalizeOptions normalize{section.list<double>("mean", {}), section.list<double>("std", {})};
  const std::size_t channels = normalize.mean.size();
  if (channels != normalize.std.size() || (channels != 1 && channels != 3))
    data.reject("normalize", "expected as many numbers in mean as in std", "one or three, of pixel/255");
  for (const double deviation : normalize.std)
    if (!(deviation > 0)) section.reject("std", fmt::format("expected numbers above 0, got {}", deviation));
  return normalize;
}

/// Two numbers, the first not above the second, both between `low` and `high`; none when the key is absent.
std::optional<std::pair<double, double>> read_interval(Section& section, const char* key, double low, double high) {
  if (!section.has(key)) return std::nullopt;
  const std::vector<double> ends = section.list<double>(key, {});
  if (ends.size() == 2 && low <= ends[0] && ends[0] <= ends[1] && ends[1] <= high) return std::pair(ends[0], ends[1]);
  section.reject(key, fmt::format("expected two rising numbers between {} and {}", significant(low, 3), high));
  return std::nullopt;
}

AugmentKeys read_augment(Section section) {
  AugmentKeys augment;
  augment.horizontal_flip = section.get_in_range("horizontal_flip", augment.horizontal_flip, 0.0, 1.0);
  augment.crop_area = read_interval(section, "random_resized_crop", 1e-6, 1);
  const auto ratio = read_interval(section, "crop_ratio", 0.01, 100);
  if (ratio && !augment.crop_area)
    section.reject("crop_ratio", "belongs to a crop", "data.augment.random_resized_crop is not set");
  augment.crop_ratio = ratio.value_or(augment.crop_ratio);
  return augment;
}

/// What both tasks read alike.
void read_common_data(Section& section, DataOptions& data) {
  data.pin_memory = section.get("pin_memory", data.pin_memory);
  data.prefetch = section.get_in_range("prefetch", data.prefetch, 0, 1024);
  data.cache = section.choice("cache", data.cache, {"none", "ram"});
  data.read = section.choice("read", data.read, {"hdf5", "pread"});
  data.shuffle = section.get("shuffle", data.shuffle);
  data.limit = section.optional_in_range<std::int64_t>("limit", 1, kManySteps);
  data.drop_last = section.get("drop_last", data.drop_last);
}

DataOptions read_images(Section section) {
  DataOptions data;
  // The default test shards belong to the default training shards; other data have none unless they name them.
  const bool default_data = !section.has("train");
  data.train = section.path("train", data.train);
  data.test = section.optional_path("test");
  if (default_data && !data.test) data.test = section.path("test", "data/fashion/test*.h5");
  data.image_size = section.get_in_range("image_size", data.image_size, 1, 4096);
  data.pipeline = section.choice("pipeline", data.pipeline, {"host", "device"});
  data.layout = section.choice("layout", data.layout, {"nhwc", "nchw"});
  data.workers = section.automatic("workers", 0, 1024);
  data.augment = read_augment(section.section("augment"));
  data.normalize = read_normalize(section);
  read_common_data(section, data);
  return data;
}

DataOptions read_text(Section section) {
  DataOptions data;
  data.train = section.has("train") ? section.path("train", "") : section.require<std::string>("train");
  data.test = section.optional_path("test");
  read_rows(section, data);
  read_common_data(section, data);
  return data;
}

ParallelOptions read_parallel(Section section, bool is_language) {
  ParallelOptions parallel;
  parallel.strategy = section.choice("strategy", parallel.strategy, {"dp", "ddp", "ddp-ds"});
  parallel.backend = section.choice("backend", parallel.backend, {"auto", "mpi", "nccl"});
  parallel.bucket_mb = section.automatic("bucket_mb", 0.001, 100'000.0);
  parallel.overlap = section.get("overlap", parallel.overlap);
  if (!is_language) parallel.sync_batch_norm = section.get("sync_batch_norm", parallel.sync_batch_norm);
  parallel.gradient_dtype = section.choice("gradient_dtype", parallel.gradient_dtype, {"same", "bf16", "fp16"});
  parallel.share_gpu = section.get("share_gpu", parallel.share_gpu);
  return parallel;
}

OptimizerOptions read_optimizer(Section section, bool is_language) {
  OptimizerOptions optimizer;
  optimizer.name = section.choice("name", optimizer.name, {"sgd", "adamw"});
  optimizer.learning_rate = section.get_in_range("learning_rate", optimizer.learning_rate, kAboveZero, kAnyNumber);
  optimizer.momentum = section.get_in_range("momentum", optimizer.momentum, 0.0, kBelowOne);
  optimizer.weight_decay = section.get_in_range("weight_decay", optimizer.weight_decay, 0.0, kAnyNumber);
  optimizer.eps = section.get_in_range("eps", optimizer.eps, 0.0, kAnyNumber);
  optimizer.nesterov = section.get("nesterov", optimizer.nesterov);
  if (!is_language)
    optimizer.label_smoothing = section.get_in_range("label_smoothing", optimizer.label_smoothing, 0.0, kBelowOne);
  optimizer.decay_norms = section.get("decay_norms", optimizer.decay_norms);
  optimizer.clip_norm = section.optional_in_range("clip_norm", kAboveZero, kAnyNumber);
  const std::vector<double> betas = section.list<double>("betas", {optimizer.beta1, optimizer.beta2});
  if (betas.size() == 2 && betas[0] >= 0 && betas[0] < 1 && betas[1] >= 0 && betas[1] < 1) {
    optimizer.beta1 = betas[0];
    optimizer.beta2 = betas[1];
  } else {
    section.reject("betas", "expected two numbers from 0 to below 1");
  }
  if (optimizer.name != "sgd" && (optimizer.momentum > 0 || optimizer.nesterov))
    section.reject(optimizer.nesterov ? "nesterov" : "momentum", "belongs to sgd",
                   fmt::format("optimizer.name is {}", optimizer.name), "adamw has betas.");
  else if (optimizer.nesterov && optimizer.momentum == 0)
    section.reject("nesterov", "needs a momentum", "optimizer.momentum is 0");
  return optimizer;
}

ScheduleOptions read_schedule(Section section) {
  ScheduleOptions schedule;
  schedule.name = section.choice("name", schedule.name, {"constant", "linear", "cosine", "step"});
  schedule.warmup_steps = section.get_in_range<std::int64_t>("warmup_steps", schedule.warmup_steps, 0, kManySteps);
  schedule.total_steps = section.optional_in_range<std::int64_t>("total_steps", 1, kManySteps);
  schedule.min_factor = section.get_in_range("min_factor", schedule.min_factor, 0.0, 1.0);
  const auto step_size = section.optional_in_range<std::int64_t>("step_size", 1, kManySteps);
  const auto gamma = section.optional_in_range("gamma", 0.0, 1.0);
  if (schedule.name == "step" && !step_size)
    section.reject("step_size", "is missing", "schedule.name is step", "Set the steps between two decays.");
  for (const char* key : {"step_size", "gamma"})
    if (schedule.name != "step" && section.has(key))
      section.reject(key, "belongs to the step schedule", fmt::format("schedule.name is {}", schedule.name));
  schedule.step_size = step_size.value_or(0);
  schedule.gamma = gamma.value_or(schedule.gamma);
  return schedule;
}

/// How long a run is and how many rows an update has: one key of each pair.
void read_extent(Section& section, RunSettings& run) {
  for (const auto& [one, other] : {std::pair{"steps", "epochs"}, std::pair{"batch_per_rank", "global_batch"}})
    if (section.has(one) && section.has(other))
      section.reject(one, fmt::format("is set together with run.{}", other), "each replaces the other",
                     "Remove one, or set one of them to null.");
  run.steps = section.optional_in_range<std::int64_t>("steps", 1, kManySteps);
  if (!run.steps) run.epochs = section.get_in_range<std::int64_t>("epochs", run.epochs, 1, kManySteps);
  run.batch_per_rank = section.optional_in_range<std::int64_t>("batch_per_rank", 1, kManySteps);
  if (!run.batch_per_rank)
    run.global_batch = section.get_in_range<std::int64_t>("global_batch", run.global_batch, 1, kManySteps);
  run.micro_batch = section.optional_in_range<std::int64_t>("micro_batch", 1, kManySteps);
}

RunSettings read_run(Section section) {
  RunSettings run;
  run.output = section.path("output", run.output);
  if (run.output.empty()) section.reject("output", "is empty", "", "Name a folder.");
  read_extent(section, run);
  run.seed = section.get_in_range<std::int64_t>("seed", run.seed, 0, kManySteps);
  run.device = section.choice("device", run.device, {"auto", "cpu", "cuda"});
  run.deterministic = section.get("deterministic", run.deterministic);
  run.log_every = section.get_in_range<std::int64_t>("log_every", run.log_every, 1, kManySteps);
  run.checkpoint_every = section.get_in_range<std::int64_t>("checkpoint_every", run.checkpoint_every, 0, kManySteps);
  run.keep_checkpoints = section.get_in_range("keep_checkpoints", run.keep_checkpoints, 0, 1'000'000);
  run.resume = section.path("resume", run.resume);
  run.wall_limit = section.duration("wall_limit");
  run.timeout_s = section.get_in_range("timeout_s", run.timeout_s, kAboveZero, kAnyNumber);
  run.keep_best = section.get("keep_best", run.keep_best);
  run.tensorboard = section.get("tensorboard", run.tensorboard);
  run.json_lines = section.get("json_lines", run.json_lines);
  run.cuda_graph = section.choice("cuda_graph", run.cuda_graph, {"auto", "true", "false"});
  run.ema_decay = section.get_in_range("ema_decay", run.ema_decay, 0.0, kBelowOne);
  return run;
}

EvaluateOptions read_evaluate(Section section, const DataOptions& data, bool is_language) {
  EvaluateOptions evaluate;
  if (is_language) read_asked(section, evaluate);
  evaluate.every_epochs = section.get_in_range<std::int64_t>("every_epochs", evaluate.every_epochs, 0, kManySteps);
  evaluate.every_steps = section.get_in_range<std::int64_t>("every_steps", evaluate.every_steps, 0, kManySteps);
  evaluate.at_start = section.get("at_start", evaluate.at_start);
  evaluate.limit = section.optional_in_range<std::int64_t>("limit", 1, kManySteps);
  if (data.test) return evaluate;
  const std::pair<const char*, bool> moments[] = {{"every_epochs", evaluate.every_epochs > 0},
                                                  {"every_steps", evaluate.every_steps > 0},
                                                  {"at_start", evaluate.at_start && !evaluate.questions}};
  for (const auto& [key, wanted] : moments)
    if (wanted && section.has(key))
      section.reject(key, "there is nothing to evaluate on", "data.test is not set", "Name the test shards.");
  evaluate.every_epochs = evaluate.every_steps = 0;
  evaluate.at_start = evaluate.at_start && evaluate.questions;
  return evaluate;
}

/// The key of profile that counts without profiling; the others are for profiles only.
std::int64_t read_skip_steps(Section section, std::int64_t fallback) {
  section.get_in_range<std::int64_t>("steps", 10, 1, kManySteps);
  return section.get_in_range<std::int64_t>("skip_steps", fallback, 0, kManySteps);
}

/// bfloat16 has 8 bits of mantissa: what adds up small shares of it stands still.
void check_trained_in_bf16(Section& root, const RunOptions& options) {
  if (options.model.trainable_dtype != "bf16") return;
  if (options.precision == "fp64" || options.precision == "fp16")
    root.section("model").reject("trainable_dtype", "bf16 is for precision bf16, tf32 and fp32",
                                 fmt::format("precision is {}", options.precision), "Set it to fp32.");
  if (options.parallel.gradient_dtype == "fp16")
    root.section("parallel")
        .reject("gradient_dtype", "fp16 is for float32 gradients", "model.trainable_dtype is bf16, and so are they",
                "Set it to same.");
  if (options.run.ema_decay > 0)
    root.section("run").reject("ema_decay", "an average in bfloat16 would not change", "model.trainable_dtype is bf16",
                               "Leave one of the two out.");
}

/// Values that are right by themselves and wrong together.
void check_together(Section& root, const RunOptions& options) {
  check_trained_in_bf16(root, options);
  if (options.precision == "fp64" && options.parallel.gradient_dtype != "same")
    root.section("parallel")
        .reject("gradient_dtype", "is for float32 gradients", "precision is fp64", "Set it to same.");
  if (options.run.keep_best && !options.data.test)
    root.section("run").reject("keep_best", "there is nothing to evaluate on", "data.test is not set",
                               "Name the test shards.");
  if (options.run.keep_best && options.run.keep_checkpoints == 0)
    root.section("run").reject("keep_best", "no checkpoint is written", "run.keep_checkpoints is 0",
                               "Keep one or more.");
}

RunOptions read(Section& root, const Deck& deck) {
  RunOptions options;
  options.task = root.choice("task", options.task, {"image", "llm"});
  const bool is_language = options.is_language();
  refuse_keys_of_other_task(root, deck, options.task);
  options.model = is_language ? read_language_model(root.section("model")) : read_image_model(root.section("model"));
  if (is_language) options.method = read_method(root.section("method"), options.model);
  options.data = is_language ? read_text(root.section("data")) : read_images(root.section("data"));
  options.parallel = read_parallel(root.section("parallel"), is_language);
  options.precision = root.choice("precision", is_language ? options.model.dtype : options.precision,
                                  {"fp64", "fp32", "tf32", "fp16", "bf16"});
  options.optimizer = read_optimizer(root.section("optimizer"), is_language);
  options.schedule = read_schedule(root.section("schedule"));
  options.run = read_run(root.section("run"));
  options.evaluate = read_evaluate(root.section("evaluate"), options.data, is_language);
  options.skip_steps = read_skip_steps(root.section("profile"), options.skip_steps);
  check_together(root, options);
  refuse_unavailable(root, deck);
  root.finish();
  return options;
}

}  // namespace

RunOptions read_run_options(const Deck& deck) {
  Section root(deck);
  return read(root, deck);
}

Deck with_defaults(const Deck& deck) {
  Section root(deck);
  read(root, deck);
  return root.resolved();
}

}  // namespace multicard
