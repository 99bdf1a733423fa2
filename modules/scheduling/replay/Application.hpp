#pragma once
/// \file What was measured of an application.

#include <string>

#include "scheduling/policy/LocalBatch.hpp"
#include "scheduling/rates/StepTimeTable.hpp"
#include "scheduling/replay/Convergence.hpp"

namespace multicard {

/// The traces of one application: step times and convergence.
class Application {
 public:
  /// Reads FOLDER; the last part of its path is the application's name. \throws DataError
  explicit Application(const std::string& folder);

  const std::string& name() const { return name_; }
  const BatchLimits& limits() const { return limits_; }
  const StepTimeTable& times() const { return times_; }
  const Convergence& convergence() const { return convergence_; }

  /// Seconds from one update to the next; infinite where no step time is known.
  double update_seconds(const GpuPlacement& placement, const LocalBatch& batch) const;
  /// Progress of an update of `batch` rows during `epoch`, counted from 0.
  double update_gain(int batch, int epoch) const;

 private:
  std::string name_;
  StepTimeTable times_;
  Convergence convergence_;
  BatchLimits limits_;
};

}  // namespace multicard
