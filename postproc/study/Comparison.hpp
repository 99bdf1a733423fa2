#pragma once
/// \file What changed between two results: configurations that both have, with the parts of a step that explain it.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "findings/Finding.hpp"
#include "postproc/study/Collection.hpp"

namespace multicard::post {

/// A number of A and of B.
struct ComparedNumber {
  std::string name;
  Estimate a, b;
  Estimate difference = {};  ///< b - a
};

/// A mean phase of a step, in seconds.
struct ComparedPhase : ComparedNumber {
  double share = kNone;  ///< of the difference of the mean step: the shares of all phases add up to 1

  /// Whether the interval of the difference excludes 0.
  bool is_measurable() const {
    return difference.interval && (difference.interval->low > 0 || difference.interval->high < 0);
  }
};

/// What a step and rank spends under one name: an operator, a call, a kernel, a function of MPI. Of a side that does
/// not have it both numbers are 0.
struct ComparedItem {
  std::string name;
  double seconds_a = 0, seconds_b = 0;
  double count_a = 0, count_b = 0;

  double difference() const { return seconds_b - seconds_a; }
};

/// Items of one kind, those whose time changed most first.
struct ComparedItems {
  std::string id, heading;
  std::vector<ComparedItem> items;
};

/// One configuration on one number of ranks, of A and of B.
struct ComparedCell {
  const Study *study_a = nullptr, *study_b = nullptr;
  const Cell *cell_a = nullptr, *cell_b = nullptr;
  std::string label;
  Estimate rate_ratio;  ///< rate of B / rate of A; unknown where they count different things
  Estimate step_ratio;  ///< median step of B / that of A
  ComparedNumber mean_step;
  std::vector<ComparedPhase> phases;   ///< the largest differences first
  std::vector<ComparedNumber> scores;  ///< losses and accuracies at the end
  std::vector<ComparedNumber> memory;  ///< bytes, of the rank with the most; no intervals
  std::vector<ComparedItems> items;    ///< of kinds that both recorded
  bool is_same_run = false;            ///< to the last digit of every time

  bool is_measured() const { return step_ratio.known(); }
  /// Whether the interval of the ratio of rates excludes 1.
  bool is_measurable() const;
};

/// A setting, version or variable that is not the same in A and B.
struct ComparedSetting {
  std::string key, a, b;      ///< empty: not there
  std::string effect;         ///< of a key of decks: work, learning, speed, bookkeeping
  std::size_t num_cells = 0;  ///< in how many of the compared configurations; 0: of evaluations alone
};

/// Scores of `multicard eval`.
struct ComparedEvaluation {
  std::string name;
  std::vector<ComparedNumber> scores;
  const RunReport *run_a = nullptr, *run_b = nullptr;
  std::vector<ComparedSetting> data = {};  ///< settings that differ and say what was evaluated on
};

struct Comparison {
  std::vector<ComparedCell> cells;
  std::vector<std::string> only_a, only_b;   ///< configurations that the other side does not have
  std::vector<ComparedSetting> settings;     ///< of decks, and numbers of ranks
  std::vector<ComparedSetting> environment;  ///< program, versions, machine, variables
  std::vector<ComparedEvaluation> evaluations;
  Findings findings;  ///< the first one is the answer, the others explain it
};

/// Compares the configurations that both have: those that agree in every setting that one of them varies. A setting
/// that neither varies may differ; it is then among `settings`. The result refers to `a` and `b`.
/// \throws DataError where no configuration and no evaluation of both can be compared
Comparison compare(const Collection& a, const Collection& b);

/// The configuration whose rate changed most, of those that changed measurably if any did; null where none was
/// measured.
const ComparedCell* most_changed(const Comparison& comparison);

/// "exposed communication" of reduce_wait
const char* phase_name(Phase phase);

/// \name Parts of compare()
/// @{
/// The pairs, and what is only in one of both.
void match_cells(const Collection& a, const Collection& b, Comparison& comparison);
/// Profiles, collectives, input.
std::vector<ComparedItems> compared_items(const ComparedCell& cell);
/// Of configurations, evaluations and surroundings.
void compare_settings(const Collection& a, const Collection& b, Comparison& comparison);
/// What A and B did that is not the same work: neither speeds nor scores say then which is better.
Findings different_work_findings(const Comparison& comparison);
/// What the answer leaves out: runs that are the same, variation between runs, configurations that do not match.
Findings left_out_findings(const Comparison& comparison, const std::vector<const ComparedCell*>& measured);
Findings comparison_findings(const Comparison& comparison);
/// @}

}  // namespace multicard::post
