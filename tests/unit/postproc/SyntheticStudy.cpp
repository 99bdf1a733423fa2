#include "SyntheticStudy.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "tasks/options/SettingKeys.hpp"

namespace multicard::test {

namespace {

/// Uniform in [-1, 1], a function of its arguments.
double uniform(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t x = a * 0x9E3779B97F4A7C15u ^ b * 0xBF58476D1CE4E5B9u ^ (c + 1) * 0x94D049BB133111EBu;
  for (int round = 0; round < 3; ++round) {
    x ^= x >> 31;
    x *= 0xD6E8FEB86659FD93u;
  }
  return 2 * (static_cast<double>(x >> 11) / 9007199254740992.0) - 1;
}

std::uint64_t key_of(const SyntheticRun& run) {
  std::uint64_t key = static_cast<std::uint64_t>(run.ranks * 100 + run.repeat);
  for (const char c : run.strategy)
    key = key * 131 + static_cast<unsigned char>(c);
  for (const auto& [name, value] : run.settings)
    for (const char c : name + value)
      key = key * 131 + static_cast<unsigned char>(c);
  return key;
}

int rows_on(const SyntheticRun& run, int rank) {
  return run.global_batch / run.ranks + (rank < run.global_batch % run.ranks ? 1 : 0);
}

/// Seconds of computing of one rank in one step. The first steps are slow, as real ones are; repeats differ by 0.5 %.
double computing(const SyntheticRun& run, int rank, int step) {
  const auto s = static_cast<std::uint64_t>(step), r = static_cast<std::uint64_t>(rank);
  double seconds = rows_on(run, rank) * run.row_seconds * (1 + run.noise * uniform(key_of(run), s, r));
  seconds *= 1 + 0.5 * run.noise * uniform(key_of(run), 999, 0);
  if (rank == run.slow_rank) seconds *= run.slow_factor;
  if (step < 3) seconds *= 2.5 - 0.5 * step;
  return seconds;
}

StepTimes times_of(const SyntheticRun& run, int rank, int step) {
  double slowest = 0;
  for (int other = 0; other < run.ranks; ++other)
    slowest = std::max(slowest, computing(run, other, step));
  const double own = computing(run, rank, step);
  const double input = run.strategy == "ddp" ? 0.012 : 0.012 / run.ranks;
  const double wait = run.ranks == 1 ? 0 : slowest - own + run.collective_seconds * std::log2(2.0 * run.ranks);
  StepTimes times;
  times.phases = {input, 0.001, 0.34 * own, 0.62 * own, wait, 0.04 * own, 0.0005};
  for (const double phase : times.phases)
    times.step += phase;
  return times;
}

MetricSeries loss_of(const SyntheticRun& run) {
  MetricSeries loss;
  for (int step = 0; step < run.num_steps; ++step) {
    loss.values.push_back(0.4 + 1.9 * std::exp(-0.05 * step) + 0.05 * uniform(7, static_cast<std::uint64_t>(step), 0));
    loss.steps.push_back(step);
  }
  return loss;
}

std::string deck_of(const SyntheticRun& run) {
  return fmt::format(
      "task: image\nmodel: {{name: mobilenet_v2, width: 1.0}}\ndata: {{image_size: 100}}\n"
      "parallel: {{strategy: {}}}\nprecision: fp32\nrun: {{global_batch: {}}}\n",
      run.strategy, run.global_batch);
}

/// Doubles after 12 steps, and every overflow halves it.
void add_loss_scale(const SyntheticRun& run, RunSummary& summary) {
  double scale = 65536;
  for (int step = 0; step < run.num_scale_steps; ++step) {
    const bool overflows = step == 2 || step == 27;
    summary.metrics["loss_scale"].values.push_back(scale);
    summary.metrics["loss_scale"].steps.push_back(step);
    summary.metrics["skipped"].values.push_back(overflows ? 1 : 0);
    summary.metrics["skipped"].steps.push_back(step);
    if (overflows) scale /= 2;
    if (step == 15) scale *= 2;
  }
}

using Settings = std::map<std::string, std::string>;

/// How much faster a setting is than the plain one on the synthetic machine.
double factor_of(const std::string& key, const std::string& value) {
  static const std::map<std::pair<std::string, std::string>, double> kFactors{
      {{"precision", "fp64"}, 0.45},     {{"precision", "tf32"}, 1.4},        {{"precision", "fp16"}, 2.1},
      {{"precision", "bf16"}, 2.05},     {{"data.pin_memory", "true"}, 1.18}, {{"data.layout", "nhwc"}, 1.25},
      {{"data.pipeline", "device"}, 1.1}};
  const auto found = kFactors.find({key, value});
  return found == kFactors.end() ? 1 : found->second;
}

/// Every combination of the axes' values.
std::vector<Settings> combinations(const std::vector<std::pair<std::string, std::vector<std::string>>>& axes) {
  std::vector<Settings> out{{}};
  for (const auto& [key, values] : axes) {
    std::vector<Settings> longer;
    for (const Settings& settings : out)
      for (const std::string& value : values) {
        longer.push_back(settings);
        longer.back()[key] = value;
      }
    out = std::move(longer);
  }
  return out;
}

/// A results file with three repeats of `settings` on each number of ranks, and what failed.
class SweepFile {
 public:
  explicit SweepFile(std::string path) : path_(std::move(path)) {}

  void add(const Settings& settings, const std::vector<int>& ranks) {
    for (const int count : ranks)
      for (int repeat = 0; repeat < 3; ++repeat)
        add(run_of(settings, count, repeat));
  }

  void finish(int ranks) { assemble_results(path_, partial_, synthetic_provenance(ranks), failed_); }

 private:
  SyntheticRun run_of(const Settings& settings, int ranks, int repeat) {
    SyntheticRun run;
    run.name = fmt::format("{:04}", number_++);
    run.settings = settings;
    run.ranks = ranks;
    run.repeat = repeat;
    run.num_steps = 30;
    if (const auto size = settings.find("data.image_size"); size != settings.end())
      run.image_size = std::stoi(size->second);
    if (const auto strategy = settings.find("parallel.strategy"); strategy != settings.end())
      run.strategy = strategy->second;
    run.row_seconds = 0.0004 * run.image_size * run.image_size / 10000;
    for (const auto& [key, value] : settings)
      run.row_seconds /= factor_of(key, value);
    run.collective_seconds = run.strategy == "dp" ? 0.012 : run.strategy == "ddp" ? 0.004 : 0.0025;
    const auto precision = settings.find("precision");
    if (precision != settings.end() && precision->second == "fp16") run.num_scale_steps = 30;
    if (precision != settings.end() && precision->second == "fp64" && run.image_size == 500) {
      run.status = "failed";
      run.error = "rank 0 on node01: out of device memory (the step needs 97 GB) Lower run.global_batch.";
    }
    return run;
  }

  void add(const SyntheticRun& run) {
    if (run.status == "failed") return failed_.push_back(summary_of(run));
    partial_.push_back(path_ + "." + run.name);
    write_run(partial_.back(), run);
  }

  std::string path_;
  int number_ = 0;
  std::vector<std::string> partial_;
  std::vector<RunSummary> failed_;
};

}  // namespace

RunSummary summary_of(const SyntheticRun& run) {
  RunSummary summary;
  summary.name = run.name;
  summary.status = run.status;
  summary.error = run.error;
  summary.text = run.settings;
  summary.text["parallel.strategy"] = run.strategy;
  summary.text["data.image_size"] = std::to_string(run.image_size);
  summary.integers = {{"ranks", run.ranks}, {"repeat", run.repeat}};
  if (run.is_quick) summary.integers["quick"] = 1;
  if (run.status == "failed") return summary;  // it never got to say more of itself
  summary.text.insert({{"task", "image"},
                       {"model", "mobilenet_v2"},
                       {"strategy", run.strategy},
                       {"precision", "fp32"},
                       {"backend", run.ranks == 1 ? "null" : "mpi"},
                       {"layout", "nhwc"},
                       {"scaling", "strong"},
                       {"device", "CPU"},
                       {"deck", deck_of(run)}});
  summary.integers.insert(
      {{"global_batch", run.global_batch}, {"image_size", run.image_size}, {"threads", std::max(1, 8 / run.ranks)}});
  const auto pinned = run.settings.find("data.pin_memory");
  summary.integers["pin_memory"] = pinned != run.settings.end() && pinned->second == "true" ? 1 : 0;
  summary.skip_steps = run.skip_steps;
  summary.metrics["train_loss"] = loss_of(run);
  if (run.num_scale_steps > 0) add_loss_scale(run, summary);
  summary.metrics["eval_accuracy"] = {{0.61, 0.78, 0.853}, {run.num_steps / 3, 2 * run.num_steps / 3, run.num_steps}};
  return summary;
}

RankRows rows_of(const SyntheticRun& run) {
  RankRows rows;
  for (int rank = 0; rank < run.ranks; ++rank) {
    RankRecord& record = rows[rank];
    for (int step = 0; step < run.num_steps; ++step) {
      record.steps.push_back(times_of(run, rank, step));
      record.samples.push_back(rows_on(run, rank));
    }
    record.memory = {{"host_peak_bytes", 180'000'000 + 14'000'000LL * rows_on(run, rank)},
                     {"model/parameters", 8'960'000},
                     {"model/activations", 13'000'000LL * rows_on(run, rank)}};
    record.transfers["host_to_device"] = 30'000LL * rows_on(run, rank) * run.num_steps;
    record.epochs["train"] = {4.0 + 0.1 * rank};
    if (run.ranks > 1)
      record.communication["all_reduce"] = {3 * run.num_steps, 8'960'000LL * run.num_steps, 1e9, 0.9, 0.3};
  }
  return rows;
}

Provenance synthetic_provenance(int ranks) {
  Provenance provenance;
  provenance.command_line = "multicard sweep inputs/sweeps/strategies.yaml";
  provenance.hosts.assign(static_cast<std::size_t>(ranks), "node01");
  provenance.cpu = "AMD EPYC 9334 32-Core Processor";
  provenance.gpus.assign(static_cast<std::size_t>(ranks), "");
  provenance.mpi = "Open MPI 4.1.4";
  provenance.hdf5 = "1.10.8";
  provenance.torch = "2.11.0";
  provenance.kernel = "Linux 6.1.0-37-amd64";
  provenance.environment = {{"OMP_NUM_THREADS", "1"}, {"SLURM_JOB_ID", "4711"}};
  provenance.keys = known_setting_keys();
  return provenance;
}

void write_run(const std::string& path, const SyntheticRun& run) {
  write_results(path, Communicator::null(), synthetic_provenance(run.ranks), summary_of(run), rows_of(run));
}

void write_sweep(const std::string& path) {
  std::vector<std::string> partial;
  std::vector<RunSummary> failed;
  int number = 0;
  for (const int ranks : {4, 2, 1})
    for (const char* strategy : {"ddp", "ddp-ds"})
      for (int repeat = 0; repeat < 3; ++repeat) {
        SyntheticRun run;
        run.name = fmt::format("{:04}", number++);
        run.strategy = strategy;
        run.ranks = ranks;
        run.repeat = repeat;
        if (run.strategy == "ddp") run.slow_rank = 3;
        if (run.strategy == "ddp" && ranks == 4 && repeat == 1) {
          run.status = "failed";
          run.error = "rank 2 on node01: out of memory (an allocation on the host failed) Lower run.global_batch.";
          failed.push_back(summary_of(run));
          continue;
        }
        partial.push_back(path + "." + run.name);
        write_run(partial.back(), run);
      }
  assemble_results(path, partial, synthetic_provenance(4), failed);
}

void write_large_sweep(const std::string& path) {
  std::vector<std::string> partial;
  for (const int ranks : {8, 4, 2, 1})
    for (const int size : {100, 200, 300, 400, 500})
      for (const char* strategy : {"dp", "ddp", "ddp-ds"})
        for (const char* name : {"tuned", "plain"}) {
          SyntheticRun run;
          run.name = fmt::format("{:04}", partial.size());
          run.strategy = strategy;
          run.ranks = ranks;
          run.image_size = size;
          run.settings = {{"case", name}, {"data.pin_memory", std::string(name) == "tuned" ? "true" : "false"}};
          run.row_seconds = 0.004 * size * size / 10000 * (std::string(name) == "tuned" ? 0.8 : 1);
          run.collective_seconds = std::string(strategy) == "dp" ? 0.05 : 0.006;
          partial.push_back(path + "." + run.name);
          write_run(partial.back(), run);
        }
  assemble_results(path, partial, synthetic_provenance(8));
}

void write_image_study(const std::string& folder) {
  const std::vector<std::string> sizes{"100", "200", "300", "400", "500"};
  const auto write = [&](const std::string& name, const std::vector<int>& ranks, const std::vector<Settings>& cells) {
    SweepFile file(folder + "/" + name + "/results.h5");
    for (const Settings& settings : cells)
      file.add(settings, ranks);
    file.finish(ranks.front());
  };
  write("strategies", {4, 2, 1}, combinations({{"parallel.strategy", {"dp", "ddp", "ddp-ds"}}}));
  write("sizes", {4, 2, 1}, combinations({{"data.image_size", sizes}}));
  write("precisions", {4},
        combinations({{"data.image_size", sizes},
                      {"precision", {"fp64", "fp32", "tf32", "fp16", "bf16"}},
                      {"data.pin_memory", {"false", "true"}}}));
  write("pipelines", {4},
        combinations({{"data.image_size", {"300", "500"}},
                      {"data.layout", {"nchw", "nhwc"}},
                      {"data.pipeline", {"host", "device"}}}));
  write("buckets", {4},
        combinations({{"parallel.bucket_mb", {"auto", "1", "5", "25"}}, {"parallel.overlap", {"true", "false"}}}));
}

void write_language_evaluation(const std::string& path) {
  RunSummary summary;
  summary.name = "main";
  summary.text = {{"task", "llm"},
                  {"model", "/data/models/story-1M"},
                  {"weights", "results/story/checkpoints/step_00000030/adapter_model.safetensors"},
                  {"deck", "task: llm\nmodel:\n  path: /data/models/story-1M\n"}};
  summary.integers = {{"samples", 110}, {"tokens", 13412}, {"trained_tokens", 2803}, {"questions", 50}};
  summary.reals = {{"loss", 1.43}, {"perplexity", 4.179}, {"exact_match", 0.06}};
  assemble_results(path, {}, synthetic_provenance(1), {summary});
}

void write_evaluation(const std::string& path, int num_classes) {
  RunSummary summary;
  summary.name = "main";
  summary.text = {
      {"task", "image"}, {"model", "mobilenet_v2"}, {"weights", "results/fashion/checkpoints/step_00000938"}};
  summary.reals = {{"loss", 0.2415}, {"top5", 0.998}};
  Table& classes = summary.tables["evaluation/classes"];
  Table& confusion = summary.tables["evaluation/confusion"];
  constexpr std::int64_t kSamples = 100;
  std::vector<std::int64_t> predicted(static_cast<std::size_t>(num_classes), 0);
  const auto count = [&](int actual, int taken_for, std::int64_t number) {
    confusion.integers["actual"].push_back(actual);
    confusion.integers["predicted"].push_back(taken_for);
    confusion.integers["count"].push_back(number);
    predicted[static_cast<std::size_t>(taken_for)] += number;
  };
  // Class i loses i % 7 samples to the next one, and one to the class after that.
  for (int i = 0; i < num_classes; ++i) {
    const std::int64_t lost = i % 7;
    count(i, i, kSamples - lost - 1);
    if (lost > 0) count(i, (i + 1) % num_classes, lost);
    count(i, (i + 2) % num_classes, 1);
  }
  for (int i = 0; i < num_classes; ++i) {
    const std::int64_t correct = kSamples - i % 7 - 1;
    const auto taken = static_cast<double>(predicted[static_cast<std::size_t>(i)]);
    const double precision = static_cast<double>(correct) / taken, recall = static_cast<double>(correct) / kSamples;
    classes.text["name"].push_back(num_classes == 10 ? fmt::format("class {}", i) : fmt::format("kind {}", i));
    classes.integers["samples"].push_back(kSamples);
    classes.integers["correct"].push_back(correct);
    classes.integers["predicted"].push_back(predicted[static_cast<std::size_t>(i)]);
    classes.reals["precision"].push_back(precision);
    classes.reals["recall"].push_back(recall);
    classes.reals["f1"].push_back(2 * precision * recall / (precision + recall));
  }
  assemble_results(path, {}, synthetic_provenance(1), {summary});
}

}  // namespace multicard::test
