#pragma once
/// \file One run, reduced to the numbers of the report. docs/report.md defines each.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/Measures.hpp"
#include "findings/Finding.hpp"
#include "findings/RankResources.hpp"
#include "findings/RankTimes.hpp"
#include "postproc/reduce/ProfileSum.hpp"
#include "postproc/reduce/Statistics.hpp"
#include "results/Columns.hpp"

namespace multicard::post {

inline constexpr std::size_t kNumPhases = kPhaseNames.size();

/// What one rank read, wrote or prepared of one kind (`input/stages` and `io/hdf5` of the results file). Numbers that
/// were not recorded are unknown.
struct FilesReport {
  std::string kind;  ///< e.g. "input read", "HDF5 write collective"
  int rank = 0;
  double calls = kNone, bytes = kNone, seconds = kNone;
  double lock_seconds = kNone;  ///< HDF5: before the transfer, until no other thread was in the library

  /// Unknown where there are no bytes or no time.
  double gb_per_s() const { return bytes > 0 && seconds > 0 ? 1e-9 * bytes / seconds : kNone; }
};

/// Communication of all ranks together.
struct CommunicationReport {
  std::int64_t calls = 0;          ///< of one rank
  double payload_bytes = 0;        ///< of one rank
  double bus_bytes = 0;            ///< of one rank, by nccl-tests' formula
  double seconds_total = kNone;    ///< mean over ranks
  double seconds_exposed = kNone;  ///< mean over ranks
  double seconds_skew = kNone;     ///< mean over the ranks that know it
};

/// One class of a classifier on a test set.
struct ClassScore {
  std::string name;
  std::int64_t samples = 0, correct = 0,
               predicted = 0;  ///< of this class; classified correctly; classified as this class
  double precision = kNone, recall = kNone, f1 = kNone;
};

/// `count` samples of class `actual` were classified as `predicted`.
struct ConfusionCount {
  std::int64_t actual = 0, predicted = 0, count = 0;
};

/// Scores that only language models have.
struct LanguageScore {
  double perplexity = kNone;
  double reward_margin = kNone, reward_accuracy = kNone;  ///< of preference pairs instead
  std::int64_t tokens = 0, targets = 0;  ///< of the test set, without padding; those that the loss is of
  Estimate exact_match;                  ///< share of the questions, with the interval of a share
  std::int64_t questions = 0, hits = 0;  ///< number of them; answered exactly
};

/// Scores of a model on a test set.
struct EvaluationReport {
  Estimate accuracy;  ///< of a classifier: share of the samples, with the interval of a share
  double top5 = kNone, loss = kNone;
  std::int64_t samples = 0;               ///< images, or sequences
  std::optional<LanguageScore> language;  ///< of a language model, which has no classes
  std::vector<ClassScore> classes;        ///< in the order of their numbers
  std::vector<ConfusionCount> confusion;  ///< counts above 0
};

/// Token counts of a language model's batches: means over the measured steps of sums over ranks.
struct TextReport {
  double rows = kNone;           ///< sequences, or packs
  double tokens = kNone;         ///< of the input, without padding
  double trained = kNone;        ///< that are targets
  double computed = kNone;       ///< with padding
  double imbalance = kNone;      ///< largest over mean number of tokens per rank
  std::int64_t longest_row = 0;  ///< of the whole set, in tokens; 0: not recorded

  double mean_row() const { return tokens / rows; }
  double trained_share() const { return trained / tokens; }
  double padding_share() const { return 1 - tokens / computed; }
};

/// A number measured before the first step and after the last.
struct Change {
  double before = kNone, after = kNone;

  bool known() const { return before == before && after == after; }
  bool any() const { return before == before || after == after; }
};

/// A language model's answers to a prompt before the first step and after the last; empty where it was not prompted.
struct AnswerPair {
  std::string prompt, before, after;
};

/// What tuning changed.
struct TuningReport {
  Change loss, perplexity;                ///< on the test set
  Change reward_margin, reward_accuracy;  ///< of preference pairs, instead of the perplexity
  Change exact_match;                     ///< share of the questions
  Change questions;                       ///< number of them
  std::vector<AnswerPair> answers;

  struct Score {
    const char *metric, *name;  ///< of the run; in the summary
    Change TuningReport::*change;
  };
  /// All changes, in the order of the summary.
  static const std::array<Score, 6> kScores;
};

/// Speed and memory of a run; of a cell those of its runs.
struct Measured {
  Estimate rate;             ///< per second, over all ranks
  Estimate step_time;        ///< seconds, of the slowest rank
  double mean_step = kNone;  ///< seconds, over ranks and measured steps; the sum of `phases`
  std::array<double, kNumPhases> phases{};
  double exposed_share = kNone;                ///< reduce_wait / step
  double data_wait_share = kNone;              ///< data_wait / step
  double rank_spread = kNone;                  ///< largest over smallest median own time
  std::map<std::string, std::int64_t> memory;  ///< bytes, largest over ranks

  double phase(Phase phase) const { return phases[static_cast<std::size_t>(phase)]; }
  double share(Phase of) const { return phase(of) / mean_step; }
  /// Of forward, backward and update.
  double computing_share() const { return share(Phase::forward) + share(Phase::backward) + share(Phase::update); }
};

struct RunReport : Measured {
  std::size_t source = 0;  ///< index of the file in Study::sources
  std::string name;
  /// Every attribute as text, but deck, status, error and early_stop_step.
  std::map<std::string, std::string> settings;
  std::string deck;
  int ranks = 0;
  std::optional<int> fewest_ranks;  ///< of a task of a shared job, whose steps on any ranks count
  int least_ranks = 0;              ///< of all its segments: fewer than `ranks` where it resumed or was moved
  std::int64_t repeat = 0;
  std::string status;
  std::string error;
  std::optional<std::int64_t> early_stop_step;  ///< after which evaluate.patience has ended it; none: it was not so
  std::string clock;

  std::int64_t num_steps = 0;     ///< recorded
  std::int64_t num_measured = 0;  ///< after skip_steps and with all ranks present
  std::string unit = "rows";      ///< what `rate` counts: images, tokens or rows

  /// \name The mean step and its phases with intervals over the measured steps, each the mean over ranks
  /// @{
  Estimate step_mean;
  std::array<Estimate, kNumPhases> phase_means{};
  /// @}
  std::vector<RankReport> rank_reports;
  std::map<std::string, CommunicationReport> communication;  ///< by kind
  std::map<std::string, double> transfers;                   ///< bytes a step and rank, by direction; mean over ranks
  std::map<std::string, double> epoch_seconds;               ///< train, evaluate, checkpoint: summed over epochs
  std::map<std::string, MetricSeries> metrics;
  std::optional<EvaluationReport> evaluation;
  std::optional<TextReport> text;  ///< of runs that count tokens
  std::optional<TuningReport> tuning;
  ProfileSum profile;                    ///< of the ranks that recorded one; without steps where none did
  std::vector<RankResources> resources;  ///< by rank; empty where none was recorded
  Findings findings;                     ///< what slows it down and what to try, by findings_of()
  std::vector<FilesReport> files;        ///< input before HDF5, then by rank; empty where none was recorded
  bool is_quick = false;                 ///< of a sweep made smaller (--quick)

  bool measured() const { return rate.known(); }
  /// "complete", "complete, early after step 120"
  std::string outcome() const {
    return early_stop_step ? status + ", early after step " + std::to_string(*early_stop_step) : status;
  }
  /// Whether ranks computed on CPUs, where nothing is copied between a host and a device.
  bool on_cpu() const {
    const auto device = settings.find("device");
    return device != settings.end() && device->second.starts_with("cpu");
  }
  /// Null where nothing was recorded.
  const MetricSeries* metric(const std::string& metric) const {
    const auto found = metrics.find(metric);
    return found == metrics.end() || found->second.values.empty() ? nullptr : &found->second;
  }
};

/// The number under `key`; unknown where there is none.
template <class Number>
double number_in(const std::map<std::string, Number>& numbers, const std::string& key) {
  const auto found = numbers.find(key);
  return found == numbers.end() ? kNone : static_cast<double>(found->second);
}

}  // namespace multicard::post
