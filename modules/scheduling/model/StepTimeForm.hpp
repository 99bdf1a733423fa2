#pragma once
/// \file What a formula for the time of a step has to say of itself, so that it can be fitted.

#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "scheduling/model/StepPoint.hpp"

namespace multicard {

/// A parameter of a formula: its range, and where its fit starts.
struct FormParameter {
  std::string_view name;
  double start = 1;  ///< a typical value for steps of about a second
  double lower = 0;
  double upper = std::numeric_limits<double>::infinity();
};

/// A formula for the seconds of a step, with parameters that are fitted to measurements.
class StepTimeForm {
 public:
  virtual ~StepTimeForm() = default;

  virtual std::span<const FormParameter> parameters() const = 0;

  /// Seconds of the step. `gradient` gets the derivatives by the parameters, and is as long as `values`.
  virtual double seconds(const StepPoint& at, std::span<const double> values, std::span<double> gradient) const = 0;

  /// Which parameters the observations say something about; the others are 0, or their lower limit.
  virtual std::vector<bool> identifiable(std::span<const StepObservation> observations) const = 0;

  /// Scales the starting values to the observations.
  virtual std::vector<double> start(std::span<const StepObservation> observations) const = 0;

  /// Penalties of values that are implausible where the observations do not decide: each has a residual, whose square
  /// is added to the mean loss of an observation, and its derivatives.
  struct Penalty {
    double residual = 0;
    std::vector<double> gradient;
  };
  virtual std::vector<Penalty> penalties(std::span<const double> values) const = 0;
};

}  // namespace multicard
