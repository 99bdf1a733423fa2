#pragma once
// A run with something in every corner of the results file.

#include "results/ResultsWriter.hpp"

namespace multicard::test {

constexpr std::int64_t kNumSteps = 6;

/// Times and counts that differ by rank and step, so that a row in the wrong place shows.
inline RankRecord example_record(int rank) {
  RankRecord record;
  record.clock = "device";
  record.first_step = 0;
  for (std::int64_t i = 0; i < kNumSteps; ++i) {
    StepTimes times;
    for (std::size_t phase = 0; phase < times.phases.size(); ++phase)
      times.phases[phase] = rank + 0.01 * static_cast<double>(i) + 0.1 * static_cast<double>(phase);
    for (const double seconds : times.phases)
      times.step += seconds;
    record.steps.push_back(times);
    record.samples.push_back(100 * rank + i);
    record.counts["tokens"].push_back(1000 * rank + i);
    record.extra_times["host_data_wait"].push_back(0.5 * rank);
  }
  record.epochs["train"] = {1.0 + rank, 2.0 + rank};
  record.epochs["checkpoint"] = {0.25};
  record.memory["host_peak_bytes"] = 5'000'000'000 + rank;
  record.memory["model/parameters"] = 40;
  record.communication["all_reduce"] = {.calls = 3,
                                        .payload_bytes = 1 << 20,
                                        .bus_bytes = 1.5 * (1 << 20),
                                        .seconds_total = 0.5,
                                        .seconds_exposed = 0.125 * rank};
  record.transfers["host_to_device"] = 77 + rank;
  for (int i = 0; i <= rank; ++i) {  // a rank that began later has fewer
    record.resources["time_s"].push_back(1.7e9 + i);
    record.resources["cpu_s"].push_back(rank + 0.25 * i);
  }
  return record;
}

inline RunSummary example_summary(const std::string& name = "main") {
  RunSummary summary;
  summary.name = name;
  summary.text = {{"task", "image"}, {"strategy", "ddp-ds"}, {"deck", "task: image\nmodel: {name: mobilenet_v2}\n"}};
  summary.integers = {{"global_batch", 64}, {"pin_memory", 1}};
  summary.reals = {{"optimizer.learning_rate", 0.05}};
  summary.skip_steps = 2;
  summary.metrics["train_loss"] = {{3, 2.5, 2, 1.75, 1.5, 1.25}, {0, 1, 2, 3, 4, 5}};
  summary.metrics["eval_loss"] = {{1.5}, {6}};
  summary.tables["profile/kernels"] = {
      .text = {{"name", {"gemm", "größe"}}}, .integers = {{"calls", {3, 4}}}, .reals = {{"seconds", {0.5, 0.25}}}};
  return summary;
}

inline Provenance example_provenance() {
  Provenance provenance;
  provenance.command_line = "multicard run deck.yaml run.seed=2";
  provenance.hosts = {"n1", "n2"};
  provenance.cpu = "a cpu";
  provenance.kernel = "Linux 6.1";
  provenance.environment = {{"OMP_NUM_THREADS", "4"}, {"SLURM_NOTE", "a=b"}};
  return provenance;
}

}  // namespace multicard::test
