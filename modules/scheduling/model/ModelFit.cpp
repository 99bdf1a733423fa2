#include "scheduling/model/ModelFit.hpp"

#include <algorithm>
#include <cmath>

#include "base/Error.hpp"
#include "scheduling/model/LevenbergMarquardt.hpp"
#include "scheduling/model/Random.hpp"

namespace multicard {
namespace {

void check(std::span<const StepObservation> observations) {
  if (observations.empty()) throw DataError("no measured steps to fit");
  for (const StepObservation& observation : observations)
    if (!(observation.seconds > 0) || !std::isfinite(observation.seconds))
      throw DataError("a measured step has no time", "seconds must be positive", "leave it out");
}

/// The search space of a fit: the free parameters, on the whole line.
/// Those with a lower bound are searched as logarithms, those with two bounds as logits: the search needs no bounds of
/// its own, and its steps are relative to the values.
class Search {
 public:
  Search(const StepTimeForm& form, std::span<const StepObservation> observations, const FitOptions& options)
      : form_(form), observations_(observations), fixed_(form.parameters().size(), 0.0) {
    const std::vector<bool> identifiable = form.identifiable(observations);
    for (std::size_t i = 0; i < fixed_.size(); ++i) {
      const bool known = i < options.known.size() && options.known[i];
      // What cannot be identified stays at its lower bound, which leaves its effect out.
      fixed_[i] = known ? *options.known[i] : form.parameters()[i].lower;
      if (!known && identifiable[i]) free_.push_back(i);
    }
    settings_.max_iterations = options.max_iterations;
    settings_.robust_scale = options.robust_scale;
  }

  std::size_t num_free() const { return free_.size(); }

  Minimum from(std::vector<double> start) const {
    return minimize([this](std::span<const double> x, Residuals& out) { evaluate(x, out); }, std::move(start),
                    settings_);
  }

  std::vector<double> unbounded(std::span<const double> values) const {
    std::vector<double> x;
    for (const std::size_t i : free_) {
      const FormParameter& range = form_.parameters()[i];
      const double share = (values[i] - range.lower) / (range.upper - range.lower);
      if (std::isinf(range.upper))
        x.push_back(std::log(std::max(values[i] - range.lower, 1e-12)));
      else
        x.push_back(std::log(std::clamp(share, 1e-6, 1 - 1e-6) / (1 - std::clamp(share, 1e-6, 1 - 1e-6))));
    }
    return x;
  }

  /// The parameters at `x`; `slopes` gets their derivatives.
  std::vector<double> bounded(std::span<const double> x, std::vector<double>& slopes) const {
    std::vector<double> values = fixed_;
    slopes.assign(free_.size(), 0.0);
    for (std::size_t k = 0; k < free_.size(); ++k) {
      const FormParameter& range = form_.parameters()[free_[k]];
      const double width = range.upper - range.lower;
      const double share = std::isinf(width) ? 0 : 1 / (1 + std::exp(-x[k]));
      values[free_[k]] = range.lower + (std::isinf(width) ? std::exp(x[k]) : width * share);
      slopes[k] = std::isinf(width) ? std::exp(x[k]) : width * share * (1 - share);
    }
    return values;
  }

 private:
  void evaluate(std::span<const double> x, Residuals& out) const {
    std::vector<double> slopes;
    const std::vector<double> values = bounded(x, slopes);
    const std::vector<StepTimeForm::Penalty> penalties = form_.penalties(values);
    out.num_robust = observations_.size();
    out.values.assign(observations_.size() + penalties.size(), 0.0);
    out.jacobian.assign(out.values.size() * free_.size(), 0.0);
    std::vector<double> gradient(values.size());
    for (std::size_t row = 0; row < out.values.size(); ++row) {
      double scale = 1;
      if (row < observations_.size()) {
        const double predicted = form_.seconds(observations_[row].at, values, gradient);
        // Relative errors: steps of milliseconds count as much as steps of seconds.
        out.values[row] = std::log(predicted / observations_[row].seconds);
        scale = 1 / predicted;
      } else {
        // Penalties stay as strong against the mean error, however many observations there are.
        scale = std::sqrt(static_cast<double>(observations_.size()));
        out.values[row] = scale * penalties[row - observations_.size()].residual;
        gradient = penalties[row - observations_.size()].gradient;
      }
      for (std::size_t k = 0; k < free_.size(); ++k)
        out.jacobian[row * free_.size() + k] = scale * gradient[free_[k]] * slopes[k];
    }
  }

  const StepTimeForm& form_;
  std::span<const StepObservation> observations_;
  std::vector<double> fixed_;
  std::vector<std::size_t> free_;
  MinimizeOptions settings_;
};

FittedValues result_of(const Search& search, const Minimum& minimum) {
  std::vector<double> slopes;
  return {.values = search.bounded(minimum.x, slopes), .loss = minimum.loss, .num_fitted = search.num_free()};
}

}  // namespace

FittedValues fit(const StepTimeForm& form, std::span<const StepObservation> observations, const FitOptions& options) {
  check(observations);
  const Search search(form, observations, options);
  const std::vector<double> center = search.unbounded(form.start(observations));
  Random random(options.seed);
  Minimum best;
  // The loss may have several minima, for instance where latency and bandwidth explain the same steps. Further starts
  // differ from the first one by factors of about e^1.5.
  for (int start = 0; start < std::max(1, options.num_starts); ++start) {
    std::vector<double> x = center;
    if (start > 0)
      for (double& value : x)
        value += 1.5 * random.normal();
    Minimum found = search.from(std::move(x));
    if (start == 0 || found.loss < best.loss) best = std::move(found);
  }
  return result_of(search, best);
}

FittedValues refit(const StepTimeForm& form, std::span<const StepObservation> observations,
                   std::span<const double> start, const FitOptions& options) {
  check(observations);
  const Search search(form, observations, options);
  return result_of(search, search.from(search.unbounded(start)));
}

double seconds_at(const StepTimeForm& form, std::span<const double> values, const StepPoint& at) {
  std::vector<double> gradient(values.size());
  return form.seconds(at, values, gradient);
}

double mean_absolute_error(const StepTimeForm& form, std::span<const double> values,
                           std::span<const StepObservation> observations) {
  double sum = 0;
  for (const StepObservation& observation : observations)
    sum += std::abs(seconds_at(form, values, observation.at) / observation.seconds - 1);
  return observations.empty() ? 0 : sum / static_cast<double>(observations.size());
}

}  // namespace multicard
