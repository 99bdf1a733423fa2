#pragma once
/// \file The effect of each option: one changed at a time, everything else equal.

#include <string>
#include <vector>

#include "postproc/reduce/Statistics.hpp"

namespace multicard::post {

struct Study;

/// One value of an axis against the axis' baseline value.
struct OptionEffect {
  std::string key, value, baseline;
  std::string name, value_label, baseline_label;  ///< as reports say them: "precision", "fp16", "fp32"
  Estimate ratio;                      ///< of rates, value over baseline; unknown when no pair of cells completed
  int num_cells = 0;                   ///< pairs of cells that are equal but for this option, and completed
  int num_significant = 0;             ///< pairs of which the intervals of the rates do not overlap
  int num_unfinished = 0;              ///< pairs of which one or both did not complete
  double least = kNone, most = kNone;  ///< smallest and largest ratio over pairs of cells
  std::string least_at, most_at;       ///< the other settings there; empty with one pair

  /// Whether the interval excludes 1: the option makes a difference in these cells.
  bool decided() const { return ratio.interval && (ratio.interval->low > 1 || ratio.interval->high < 1); }
  /// Whether a choice can rest on it: decided, and where nothing was repeated, significant in every single pair.
  bool supported() const { return decided() && (ratio.basis == Basis::repeats || num_significant == num_cells); }
  /// "fp16 instead of fp32"
  std::string label() const;
  /// " (95 % interval 1.8–2.1 over 30 pairs of runs in 10 cells)", or why there is none.
  std::string interval_text() const;
};

/// For each axis that changes speed but neither the work nor what is learnt, with up to eight values: all its values
/// but the baseline, in the order of the axes. Runs are paired by repeat where both cells have it, so that slow drift
/// of a machine cancels.
std::vector<OptionEffect> option_effects(const Study& study);

}  // namespace multicard::post
