#pragma once
/// \file A model that follows a running task.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "scheduling/model/DriftDetector.hpp"
#include "scheduling/model/FittedModel.hpp"

namespace multicard {

struct OnlineOptions {
  PredictionOptions prediction;
  DriftOptions drift;
  std::size_t max_points = 128;      ///< different points that are remembered; the one not measured for longest goes
  std::size_t steps_per_point = 16;  ///< last steps of a point that are remembered
};

/// Measured steps of a task in bounded memory, the model fitted to them, and whether that is due to be fitted again.
class OnlineModel {
 public:
  explicit OnlineModel(std::shared_ptr<const StepTimeForm> form, OnlineOptions options = {});

  /// Adds a step. At another point than the one before, drift is looked for afresh. Throws DataError when it has no
  /// time.
  void add(const StepObservation& observation);

  /// Whether a fit would tell something new: there is none, a point was completed that it does not know, or it drifted.
  bool is_due() const;
  Drift drift() const { return detector_.found(); }

  /// Fits the remembered steps. After a drift those of the current point from before it have been forgotten, and those
  /// of the other points are taken to have changed by the same factor, until they are measured again.
  const FittedModel& refit();
  /// The last fit; null before the first.
  const FittedModel* model() const { return model_ ? &*model_ : nullptr; }

  /// Median of the remembered steps at a point; nothing where there are none.
  std::optional<double> measured(const StepPoint& at) const;
  std::vector<StepObservation> observations() const;

 private:
  struct Point {
    StepPoint at;
    std::vector<double> seconds;  ///< ring
    std::size_t next = 0;
    std::uint64_t last_step = 0;
    double fitted_s = 0;  ///< median of the steps that the last fit knew; 0 where they were too few
  };
  void follow_drift();
  Point& point_at(const StepPoint& at);

  std::shared_ptr<const StepTimeForm> form_;
  OnlineOptions options_;
  std::vector<Point> points_;
  std::optional<StepPoint> current_;
  std::uint64_t num_steps_ = 0;
  DriftDetector detector_;
  std::optional<FittedModel> model_;
};

}  // namespace multicard
