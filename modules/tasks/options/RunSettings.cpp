#include "tasks/options/RunSettings.hpp"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "config/DeckLimits.hpp"

namespace multicard {

namespace {

constexpr std::int64_t kMany = std::numeric_limits<std::int64_t>::max();

/// run.cuda_graph: whether steps are replayed as CUDA graphs. None is, yet.
enum class CudaGraph { automatic, never };
constexpr Word<CudaGraph> kCudaGraphWords[] = {{"auto", CudaGraph::automatic}, {"false", CudaGraph::never}};

void read_micro_batch(Section& section, RunSettings& run) {
  if (!section.has("micro_batch")) {  // nothing is not `auto` here
    run.micro_batch = section.optional_in_range<std::int64_t>("micro_batch", 1, most::kRows);
    return;
  }
  run.micro_batch = section.automatic<std::int64_t>("micro_batch", 1, most::kRows);
  run.chooses_micro_batch = !run.micro_batch;
}

/// How long a run is and how many rows an update has: one key of each pair.
/// Both keys of a pair have defaults or are optional; what the deck sets is taken and the other one is not even read,
/// so that the resolved deck holds one of them and can be run again.
void read_extent(Section& section, RunSettings& run) {
  for (const auto& [one, other] : {std::pair{"steps", "epochs"}, std::pair{"batch_per_rank", "global_batch"}})
    if (section.has(one) && section.has(other))
      section.reject(one, fmt::format("is set together with run.{}", other), "each replaces the other",
                     "Remove one, or set one of them to null.");
  run.steps = section.optional_in_range<std::int64_t>("steps", 1, most::kSteps);
  if (!run.steps) run.epochs = section.get_in_range<std::int64_t>("epochs", run.epochs, 1, most::kEpochs);
  run.batch_per_rank = section.optional_in_range<std::int64_t>("batch_per_rank", 1, most::kRows);
  if (!run.batch_per_rank)
    run.global_batch = section.get_in_range<std::int64_t>("global_batch", run.global_batch, 1, most::kRows);
  read_micro_batch(section, run);
}

DeckKeys length_keys() {
  using enum KeyTasks;
  using enum KeyEffect;
  return {
      {"run.output", any, bookkeeping, "output", "folder of results, checkpoints and records"},
      {"run.epochs", any, bookkeeping, "epochs", "passes over the training data"},
      {"run.steps", any, bookkeeping, "steps", "updates, instead of epochs"},
      {"run.global_batch", any, work, "global batch", "rows of an update over all ranks (strong scaling)"},
      {"run.batch_per_rank", any, work, "batch per rank",
       "rows of an update on each rank, instead of `global_batch` (weak scaling)"},
      {"run.micro_batch",
       any,
       speed,
       "micro batch",
       "rows that a rank computes at once; gradients are accumulated; `auto`: the largest divisor of a rank's rows "
       "that "
       "is predicted to fit its memory",
       {.fallback = "all of a rank's rows"}},
      {"run.seed", any, bookkeeping, "seed", "of weights, order and dropout", {.on_resume = OnResume::same}},
      {"run.ema_decay",
       any,
       speed,
       "ema decay",
       "decay of a moving average of the weights, which is evaluated in their place; 0: none",
       {.on_resume = OnResume::same}},
      {"run.wall_limit", any, bookkeeping, "wall limit",
       "time since launch after which the run stops with a checkpoint and exit code 75"},
      {"run.timeout_s", any, bookkeeping, "timeout s",
       "seconds that a collective may take before the job ends with exit code 5"},
  };
}

DeckKeys record_keys() {
  using enum KeyTasks;
  using enum KeyEffect;
  return {
      {"run.log_every", any, bookkeeping, "log every", "steps between progress lines"},
      {"run.checkpoint_every", any, bookkeeping, "checkpoint every", "steps between checkpoints; 0: only at the end"},
      {"run.keep_checkpoints", any, bookkeeping, "keep checkpoints",
       "newest checkpoints that stay; 0: none is written at all"},
      {"run.keep_best", any, bookkeeping, "keep best",
       "also keep the checkpoint with the best test score (accuracy; for language models the loss)"},
      {"run.resume", any, bookkeeping, "resume",
       "from the newest complete checkpoint of `output` (`auto`), `never`, or from the checkpoint of this path"},
      {"run.on_divergence", any, bookkeeping, "on divergence",
       "when training diverges although the loss is finite: `warn` and continue, or `stop` with exit code 6"},
      {"run.tensorboard", any, bookkeeping, "tensorboard", "write TensorBoard event files to `OUTPUT/tensorboard`"},
      {"run.json_lines", any, bookkeeping, "json lines", "write every metric as a line of `OUTPUT/metrics.jsonl`"},
      {"run.prometheus", any, bookkeeping, "prometheus",
       "write the status as metrics of Prometheus to this file, `*.prom`, for node_exporter's textfile collector"},
      {"run.cuda_graph",
       any,
       speed,
       "cuda graph",
       "replay whole steps as CUDA graphs",
       {.reserved = "true", .available = "auto false"}},
  };
}

}  // namespace

ResumeFrom read_resume(Section& section) {
  const std::string text = section.path("resume", std::string(word_of(ResumeMode::automatic, kResumeWords)));
  const std::optional<ResumeMode> mode = value_of<ResumeMode>(text, kResumeWords);
  return mode ? ResumeFrom{*mode} : ResumeFrom{ResumeMode::from_path, text};
}

RunSettings read_run_settings(Section& section) {
  RunSettings run;
  static_cast<ComputeOptions&>(run) = read_compute_options(section);
  run.output = section.path("output", run.output);
  if (run.output.empty()) section.reject("output", "is empty", "", "Name a folder.");
  read_extent(section, run);
  run.seed = section.get_in_range<std::int64_t>("seed", run.seed, 0, kMany);
  run.log_every = section.get_in_range<std::int64_t>("log_every", run.log_every, 1, most::kSteps);
  run.checkpoint_every = section.get_in_range<std::int64_t>("checkpoint_every", run.checkpoint_every, 0, most::kSteps);
  run.keep_checkpoints = section.get_in_range("keep_checkpoints", run.keep_checkpoints, 0, 1'000'000);
  run.resume = read_resume(section);
  run.wall_limit = section.duration("wall_limit");
  run.timeout_s = section.get_in_range("timeout_s", run.timeout_s, kLeastInterval, most::kSeconds);
  run.keep_best = section.get("keep_best", run.keep_best);
  run.on_divergence = section.choice("on_divergence", run.on_divergence, kOnDivergenceWords);
  run.tensorboard = section.get("tensorboard", run.tensorboard);
  run.json_lines = section.get("json_lines", run.json_lines);
  run.prometheus = section.optional_path("prometheus");
  if (run.prometheus && !run.prometheus->ends_with(".prom"))
    section.reject("prometheus", "does not end in .prom", "the textfile collector reads no other files",
                   "Name a file NAME.prom.");
  section.choice("cuda_graph", CudaGraph::automatic, kCudaGraphWords);
  run.ema_decay = section.get_in_range("ema_decay", run.ema_decay, 0.0, kBelowOne);
  return run;
}

DeckKeys run_settings_keys() {
  return concatenated({length_keys(), record_keys()});
}

}  // namespace multicard
