#include "SyntheticStudy.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

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

}  // namespace multicard::test
