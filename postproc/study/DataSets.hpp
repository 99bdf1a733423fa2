#pragma once
/// \file Studies that compare data sets for language models: lengths, padding, imbalance, and what length explains.

#include <optional>
#include <string>
#include <vector>

#include "findings/Finding.hpp"
#include "postproc/study/Study.hpp"

namespace multicard::post {

/// Whether the study compares data sets: its configurations count tokens and differ in `data.train`.
bool compares_data_sets(const Study& study);

/// The means over the repeats of a cell; nothing where none counted tokens.
std::optional<TextReport> text_of_cell(const Study& study, const Cell& cell);

/// The same time in milliseconds.
Estimate in_milliseconds(Estimate seconds);

/// Data sets whose tokens per step differ by no more than this factor are meant to be compared at equal tokens.
inline constexpr double kMeantEqual = 1.1;
/// Largest deviation of tokens per step from the middle of their range, as a share of it, that is called equal.
inline constexpr double kHeldEqual = 0.02;

/// Step times of data sets on one number of ranks.
struct LengthEffect {
  int ranks = 0;
  std::vector<const Cell*> cells;  ///< complete ones, at least two, in the order of the study
  const Cell *quickest = nullptr, *slowest = nullptr;
  double time_spread = 1, token_spread = 1;  ///< largest over smallest step time; the same of tokens per step
  /// Share of the differences in step time that tokens of the input alone explain, and tokens with padding: of the
  /// squared logarithms of the ratios to their mean, what stays when each set's time is divided by its tokens is not
  /// explained. Negative where rates differ more than times; unknown where tokens are meant to be equal. The interval
  /// moves each set's time to the ends of its own and adds the changes in squares.
  Estimate explained, explained_with_padding;

  /// Deviation of the fewest and the most tokens per step from the middle of their range, as a share of it.
  double token_deviation() const { return (token_spread - 1) / (token_spread + 1); }
  bool equal_tokens() const { return token_spread <= kMeantEqual; }
};

/// One for each number of ranks on which at least two data sets completed.
std::vector<LengthEffect> length_effects(const Study& study);

/// "8 rows per step" or "equal tokens per step"; empty when it is neither.
std::string fixed_amount(const Study& study);

/// "data_sets-RANKS": the length effects in sentences.
Findings data_set_findings(const Study& study);

}  // namespace multicard::post
