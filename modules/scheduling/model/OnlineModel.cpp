#include "scheduling/model/OnlineModel.hpp"

#include <algorithm>
#include <cmath>

#include "base/Error.hpp"
#include "base/Quantiles.hpp"

namespace multicard {

OnlineModel::OnlineModel(std::shared_ptr<const StepTimeForm> form, OnlineOptions options)
    : form_(std::move(form)), options_(std::move(options)), detector_(options_.drift) {}

void OnlineModel::add(const StepObservation& observation) {
  if (!(observation.seconds > 0) || !std::isfinite(observation.seconds))
    throw DataError("a measured step has no time", "seconds must be positive");
  // The model's error differs between points; its change from one point to another does not count as drift.
  if (current_ != observation.at) detector_.reset();
  current_ = observation.at;
  Point& point = point_at(observation.at);
  point.last_step = ++num_steps_;
  const bool drifted_before = detector_.found() != Drift::none;
  if (model_ && detector_.add(observation.seconds, model_->seconds(observation.at)) != Drift::none && !drifted_before) {
    // Measured before the change, and true no longer.
    point.seconds.clear();
    point.next = 0;
  }
  if (point.seconds.size() < options_.steps_per_point) {
    point.seconds.push_back(observation.seconds);
  } else {
    point.seconds[point.next] = observation.seconds;
    point.next = (point.next + 1) % options_.steps_per_point;
  }
}

bool OnlineModel::is_due() const {
  // After a drift the new state is measured first: the point's old steps are gone.
  const auto is_new = [&](const Point& point) {
    return point.fitted_s == 0 && point.seconds.size() >= options_.steps_per_point;
  };
  if (detector_.found() != Drift::none)
    return std::ranges::any_of(points_, [&](const Point& point) {
      return point.at == current_ && point.seconds.size() >= options_.steps_per_point;
    });
  return std::ranges::any_of(points_, is_new);
}

// What slows one point down (another job's traffic, a lower clock) is taken to slow all down by the same factor, until
// they are measured again. Without that, new steps of one point and old ones of the others would contradict each other
// in the fit.
void OnlineModel::follow_drift() {
  if (detector_.found() == Drift::none || !current_) return;
  const Point& drifted = point_at(*current_);
  if (drifted.fitted_s == 0 || drifted.seconds.empty()) return;
  const double factor = median(drifted.seconds) / drifted.fitted_s;
  for (Point& point : points_)
    if (point.at != *current_)
      for (double& seconds : point.seconds)
        seconds *= factor;
}

const FittedModel& OnlineModel::refit() {
  follow_drift();
  model_.emplace(form_, observations(), options_.prediction);
  for (Point& point : points_)
    point.fitted_s = point.seconds.size() >= options_.steps_per_point ? median(point.seconds) : 0;
  detector_.reset();
  return *model_;
}

std::optional<double> OnlineModel::measured(const StepPoint& at) const {
  const auto known = std::ranges::find(points_, at, &Point::at);
  if (known == points_.end() || known->seconds.empty()) return std::nullopt;
  return median(known->seconds);
}

std::vector<StepObservation> OnlineModel::observations() const {
  std::vector<StepObservation> result;
  for (const Point& point : points_)
    for (const double seconds : point.seconds)
      result.push_back({.at = point.at, .seconds = seconds});
  return result;
}

OnlineModel::Point& OnlineModel::point_at(const StepPoint& at) {
  const auto known = std::ranges::find(points_, at, &Point::at);
  if (known != points_.end()) return *known;
  // The one that ran least recently, whose steps are the oldest.
  if (points_.size() >= options_.max_points) points_.erase(std::ranges::min_element(points_, {}, &Point::last_step));
  points_.emplace_back().at = at;
  return points_.back();
}

}  // namespace multicard
