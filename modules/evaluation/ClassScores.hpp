#pragma once
/// \file Scores of single classes, and their tables in the results file.

#include <cstdint>
#include <string>
#include <vector>

#include "results/Columns.hpp"
#include "tasks/images/ImageEvaluation.hpp"

namespace multicard {

/// One class of a confusion. A rate is NaN when nothing is in its denominator.
struct ClassScore {
  std::int64_t samples = 0;    ///< images of the class
  std::int64_t predicted = 0;  ///< images taken for it
  std::int64_t correct = 0;    ///< both

  double precision() const { return ratio(correct, predicted); }
  double recall() const { return ratio(correct, samples); }
  /// Harmonic mean of precision and recall.
  double f1() const { return ratio(2 * correct, samples + predicted); }

 private:
  static double ratio(std::int64_t part, std::int64_t whole);
};

/// Of all classes in label order.
std::vector<ClassScore> class_scores(const Confusion& confusion, std::int64_t num_classes);

/// Columns of the results file (docs/evaluate.md).
/// @{
Table classes_table(const std::vector<ClassScore>& scores, const std::vector<std::string>& names);
Table confusion_table(const Confusion& confusion);
/// @}

}  // namespace multicard
