#pragma once
/// \file Fitting a formula for the time of a step to measurements.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "scheduling/model/StepTimeForm.hpp"

namespace multicard {

struct FitOptions {
  int num_starts = 8;         ///< searches from different values, of which the best counts
  int max_iterations = 80;    ///< of a search
  double robust_scale = 0.1;  ///< logarithmic errors beyond it count linearly
  std::uint64_t seed = 1;     ///< of the starting values
  /// Values that are known, such as those of the machine's links, or switched off (0); by parameter, may be shorter.
  std::vector<std::optional<double>> known;
};

/// Fitted values of a formula's parameters.
struct FittedValues {
  std::vector<double> values;
  double loss = 0;
  std::size_t num_fitted = 0;  ///< parameters that the fit chose
};

/// The values that describe the observations best: least squares of the logarithms, robust against outliers, with the
/// formula's penalties. The same observations give the same values on every machine of one kind. Throws DataError when
/// there are no observations, or one has no time.
FittedValues fit(const StepTimeForm& form, std::span<const StepObservation> observations,
                 const FitOptions& options = {});

/// The search of `fit` from `start` alone, for observations that differ little from those that `start` was fitted to.
FittedValues refit(const StepTimeForm& form, std::span<const StepObservation> observations,
                   std::span<const double> start, const FitOptions& options = {});

/// Seconds that the formula predicts.
double seconds_at(const StepTimeForm& form, std::span<const double> values, const StepPoint& at);

/// Mean of |predicted / observed - 1|; 0 of nothing.
double mean_absolute_error(const StepTimeForm& form, std::span<const double> values,
                           std::span<const StepObservation> observations);

}  // namespace multicard
