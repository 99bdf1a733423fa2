#pragma once
/// \file Predicting the time of steps that were not measured, and how far to believe it.

#include <memory>
#include <string_view>

#include "scheduling/model/ModelFit.hpp"

namespace multicard {

/// What a prediction rests on.
enum class Trust {
  measured,      ///< within the measured sizes
  extrapolated,  ///< beyond them: by a factor of 2 at most, or with a narrow interval
  refused        ///< too far beyond them: do not act on it
};

/// A predicted step.
struct Prediction {
  double seconds = 0;
  double low = 0;  ///< limits of the interval that the next measured step is in, with the probability asked for
  double high = 0;
  Trust trust = Trust::measured;
  std::string_view reason;  ///< which size is too far from the measured ones; empty unless refused

  /// Half of the interval, as a share of the prediction.
  double uncertainty() const { return (high - low) / (2 * seconds); }
};

struct PredictionOptions {
  FitOptions fit;
  int num_resamples = 60;
  double probability = 0.95;
  std::uint64_t seed = 1;
  double max_factor = 2;          ///< beyond the measured sizes, without condition
  double max_uncertainty = 0.15;  ///< of predictions farther away
  double usual_growth = 0.10;     ///< logarithmic error by doubling of the GPUs, where the observations do not tell
};

/// The smallest and largest measured value of a size.
struct SizeRange {
  std::string_view name;
  double (*of)(const StepPoint&) = nullptr;
  bool splits = false;  ///< whether 1 means that something does not happen at all, so that more cannot be predicted
  double least = 0;
  double most = 0;
};

/// A formula with values fitted to measurements, and with the spread of those values: the measurements are simulated
/// from the fit with resampled errors and fitted again, `num_resamples` times. Errors are resampled in two parts,
/// because those of one set of GPUs are alike: one of each set, and one of each step. Beyond the measured GPUs the
/// formula itself errs: how much by each doubling is what it errs for the most GPUs when fitted to fewer.
/// Deterministic.
class FittedModel {
 public:
  /// Throws DataError when there are no observations, or one has no time.
  FittedModel(std::shared_ptr<const StepTimeForm> form, std::span<const StepObservation> observations,
              const PredictionOptions& options = {});

  Prediction predict(const StepPoint& at) const;
  double seconds(const StepPoint& at) const { return seconds_at(*form_, fitted_.values, at); }

  const FittedValues& fitted() const { return fitted_; }
  const StepTimeForm& form() const { return *form_; }
  /// Mean of |predicted / observed - 1| over the observations.
  double error() const { return error_; }
  /// Logarithmic error to expect by each doubling of the GPUs beyond the measured ones.
  double growth() const { return growth_; }

 private:
  double rehearse(std::span<const StepObservation> observations) const;
  void resample(std::span<const StepObservation> observations);
  Trust judge(const StepPoint& at, double uncertainty, std::string_view& reason) const;

  std::shared_ptr<const StepTimeForm> form_;
  PredictionOptions options_;
  FittedValues fitted_;
  double error_ = 0;
  double growth_ = 0;
  std::vector<SizeRange> sizes_;
  std::vector<std::vector<double>> resampled_;  ///< values fitted to each resample
  std::vector<double> errors_;                  ///< logarithmic, of a next step, several for each resample
  std::vector<double> growths_;                 ///< the same, by each doubling of the GPUs beyond the measured ones
};

}  // namespace multicard
