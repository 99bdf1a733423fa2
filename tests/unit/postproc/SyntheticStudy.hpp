#pragma once
// Results files with known content, written by the project's own writer in one process.

#include <map>
#include <string>

#include "results/ResultsWriter.hpp"

namespace multicard::test {

/// What one run of the synthetic machine does. A rank computes `row_seconds` a row; collectives are waited for until
/// the slowest rank is there, plus `collective_seconds`.
struct SyntheticRun {
  std::string name = "main";
  std::string strategy = "ddp-ds";
  int ranks = 2;
  int repeat = 0;
  int num_steps = 40;
  int skip_steps = 5;
  int global_batch = 64;
  int image_size = 100;
  std::map<std::string, std::string> settings;  ///< further attributes
  double row_seconds = 0.004;
  double collective_seconds = 0.006;
  double noise = 0.02;  ///< relative, uniform in [-noise, noise]
  int slow_rank = -1;   ///< computes `slow_factor` times as long
  double slow_factor = 1.1;
  int num_scale_steps = 0;  ///< steps with a loss scale, of which 2 and 27 are skipped
  bool is_quick = false;
  std::string status = "complete";
  std::string error;
};

/// The attributes and metrics of `run`; its error is kept.
RunSummary summary_of(const SyntheticRun& run);

/// The rows of all ranks. The same run gives the same numbers.
RankRows rows_of(const SyntheticRun& run);

Provenance synthetic_provenance(int ranks);

/// A results file with this run alone.
void write_run(const std::string& path, const SyntheticRun& run);

/// A sweep: ddp and ddp-ds on 1, 2 and 4 ranks, three repeats each, rank 3 slow in ddp, one repeat of ddp on 4 ranks
/// failed. Partial files stay in the folder of `path`.
void write_sweep(const std::string& path);

/// A study of many axes: five image sizes, three strategies, two named cases, 1 to 8 ranks, one repeat.
void write_large_sweep(const std::string& path);

/// The image study in five sweeps, FOLDER/NAME/results.h5: strategies and sizes over ranks; precisions by pinned memory
/// and size; layouts by pipelines; buckets by overlap. Three repeats of everything. Settings make computing faster by
/// known factors (fp16 2.1 times fp32, pinned 1.18 times, …); fp64 at 500 px fails, buckets and overlap change nothing.
void write_image_study(const std::string& folder);

/// An evaluation of 100 samples of each class: class i loses i % 7 to the next class and one to the class after.
void write_evaluation(const std::string& path, int num_classes);

/// An evaluation of a language model, of whose 50 questions 3 were answered exactly.
void write_language_evaluation(const std::string& path);

}  // namespace multicard::test
