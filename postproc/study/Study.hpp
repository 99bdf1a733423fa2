#pragma once
/// \file The runs of one or more results files by configuration, number of ranks and repeat.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "findings/Finding.hpp"
#include "postproc/reduce/RunReport.hpp"
#include "postproc/reduce/Source.hpp"
#include "postproc/study/KeyTable.hpp"
#include "postproc/study/OptionEffect.hpp"
#include "postproc/study/ScalingPrediction.hpp"

namespace multicard::post {

/// A setting that differs between configurations, e.g. strategy: dp, ddp.
struct Axis {
  std::string key;
  std::vector<std::string> values;  ///< in the order of the files
  bool is_work = false;             ///< changes what is computed (image size), not how (strategy): rates do not compare
  bool is_learning = false;         ///< changes what is learnt (learning rate), not the work: rates do not decide
};

enum class CellStatus { complete, stopped, failed };

/// All repeats of one configuration on one number of ranks: medians over them of rates and times, means of phases and
/// shares, the largest memory.
struct Cell : Measured {
  std::size_t configuration = 0;
  int ranks = 0;
  int fewest_ranks = 0;           ///< less than `ranks` where a shared job moved the run
  std::vector<std::size_t> runs;  ///< all of them
  std::vector<std::size_t>
      measured;  ///< those that the numbers are of: the complete ones, else the stopped ones with steps
  CellStatus status = CellStatus::complete;
  Estimate speedup, efficiency;
  Estimate test_loss, test_accuracy;  ///< the last of the runs with this cell's status
  std::map<int, int> stragglers;      ///< rank to the number of repeats it was slow in

  /// Seconds for a thousand rows: 1000 / rate.
  Estimate time_per_thousand() const { return reciprocal(rate, 1000); }
  /// Whether others are compared with it: it completed with a known rate.
  bool counts() const { return status == CellStatus::complete && rate.known(); }
  int num_repeats() const { return static_cast<int>(measured.size()); }
};

/// A point of the matrix without its number of ranks.
struct Configuration {
  std::map<std::string, std::string> settings;  ///< by axis
  std::string label;                            ///< of the options only, e.g. "ddp-ds, fp16"; never empty
  bool has_options = false;                     ///< `label` names what differs, not only what all have in common
  std::string work_label;                       ///< of the axes that change the work, e.g. "224 px"; may be empty
  std::string full_label() const;
  std::optional<int> baseline_ranks;  ///< smallest number of ranks measured: R0 of speedup and efficiency
};

enum class Scaling { strong, weak, mixed };

/// What configurations differ in, by which the answer is chosen.
enum class StudyKind {
  one_work,   ///< nothing that changes the work: rates compare
  methods,    ///< tuning methods
  data_sets,  ///< data sets of language models
  works,      ///< other kinds of work
};

struct Study {
  std::string id;  ///< "study-2", …; empty where a report has one study
  std::vector<Source> sources;
  KeyTable keys;  ///< of the sources
  std::vector<RunReport> runs;
  std::vector<Axis> axes;
  std::vector<Configuration> configurations;
  std::vector<Cell> cells;  ///< by configuration, then by ranks
  std::vector<int> rank_counts;
  Scaling scaling = Scaling::strong;
  StudyKind kind = StudyKind::one_work;
  std::string unit;                            ///< what rates count, e.g. images
  std::vector<ScalingPrediction> predictions;  ///< by configuration, of those that have one
  std::vector<OptionEffect> effects;           ///< in the order of the axes
  Findings answers;                            ///< the first one is the answer, further ones are about it
  Findings advice;                             ///< what to use
  Findings findings;                           ///< what slows single runs down, and what to try

  std::string rate_unit() const { return unit + "/s"; }
  const Cell* cell(std::size_t configuration, int ranks) const;
  const Configuration& configuration(const Cell& cell) const { return configurations[cell.configuration]; }
  /// The cells of one configuration, by ranks.
  std::vector<const Cell*> cells_of(std::size_t configuration) const;
  /// Configurations that do the same work, in order of appearance; each list is not empty.
  std::vector<std::vector<std::size_t>> comparable() const;
  bool has_scaling() const { return rank_counts.size() > 1; }
  /// "precision × image size on 1, 2, 4 ranks"; of one configuration its label.
  std::string title() const;
};

/// Groups the runs of `sources`, whose settings mean what `keys` say. Axes are the settings that differ between runs
/// and do not follow from the number of ranks alone; speedup and efficiency are against the smallest number of ranks of
/// the same configuration that completed.
Study make_study(std::vector<Source> sources, std::vector<RunReport> runs, KeyTable keys);

const char* text_of(Scaling scaling);
const char* text_of(CellStatus status);
const char* text_of(Basis basis);

}  // namespace multicard::post
