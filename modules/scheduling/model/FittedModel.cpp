#include "scheduling/model/FittedModel.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/Quantiles.hpp"
#include "scheduling/model/Random.hpp"

namespace multicard {
namespace {

constexpr int kResampleIterations = 25;
constexpr double kLeastError = 0.01;  // of a step; a fit of few measurements may seem to have none
constexpr int kDraws = 5;             // errors of a next step, for each resample

std::vector<SizeRange> sizes_of(std::span<const StepObservation> observations) {
  std::vector<SizeRange> sizes{
      {"GPUs", [](const StepPoint& at) { return static_cast<double>(at.gpus); }, true},
      {"nodes", [](const StepPoint& at) { return static_cast<double>(at.nodes); }, true},
      {"GPUs of a node", [](const StepPoint& at) { return static_cast<double>(at.max_per_node); }, true},
      {"rows per GPU", [](const StepPoint& at) { return at.rows_per_gpu; }, false},
      {"tensor parallelism", [](const StepPoint& at) { return static_cast<double>(at.tensor_parallel); }, true},
      {"pipeline stages", [](const StepPoint& at) { return static_cast<double>(at.pipeline_stages); }, true}};
  for (SizeRange& size : sizes) {
    const auto by_size = [&](const StepObservation& a, const StepObservation& b) {
      return size.of(a.at) < size.of(b.at);
    };
    const auto [least, most] = std::ranges::minmax_element(observations, by_size);
    size.least = size.of(least->at);
    size.most = size.of(most->at);
  }
  return sizes;
}

/// Whether predictions from `fewer` sizes to all of them are extrapolations: of several sizes, and of nothing that only
/// the larger ones have, such as several nodes.
bool comparable(const std::vector<SizeRange>& fewer, const std::vector<SizeRange>& all) {
  bool result = fewer.front().most > fewer.front().least;
  for (std::size_t i = 0; i < all.size(); ++i)
    result = result && !(all[i].splits && fewer[i].most <= 1 && all[i].most > 1);
  return result;
}

/// Root mean square of the logarithmic error of `more` GPUs by each doubling of `limit`.
double growth_of(const StepTimeForm& form, const FittedValues& fitted, std::span<const StepObservation> more,
                 double limit) {
  double sum = 0;
  for (const StepObservation& observation : more) {
    const double error = std::log(observation.seconds / seconds_at(form, fitted.values, observation.at));
    sum += std::pow(error / std::max(std::log2(observation.at.gpus / limit), 1.0), 2);
  }
  return std::sqrt(sum / static_cast<double>(more.size()));
}

/// Logarithmic errors of a fit, in two parts.
struct Errors {
  Errors(const StepTimeForm& form, const FittedValues& fitted, std::span<const StepObservation> observations) {
    // Steps on the same GPUs share an error, what the form misses about these GPUs; the rest is noise of single steps.
    // Drawn as one, the shared part would average out over the steps of a set as noise does.
    std::map<std::tuple<int, int, int, int, int>, std::size_t> known;
    std::vector<double> sums;
    std::vector<double> counts;
    for (const StepObservation& observation : observations) {
      const StepPoint& at = observation.at;
      const auto key = std::tuple(at.gpus, at.nodes, at.max_per_node, at.tensor_parallel, at.pipeline_stages);
      const std::size_t set = known.try_emplace(key, known.size()).first->second;
      set_of.push_back(set);
      own.push_back(std::log(observation.seconds / seconds_at(form, fitted.values, at)));
      sums.resize(known.size());
      counts.resize(known.size());
      sums[set] += own.back();
      counts[set] += 1;
    }
    const auto n = static_cast<double>(own.size());
    // The fit has taken its share of the errors away.
    const double scale = std::sqrt(n / std::max(n - static_cast<double>(fitted.num_fitted), n / 4));
    for (std::size_t i = 0; i < own.size(); ++i)
      own[i] = scale * (own[i] - sums[set_of[i]] / counts[set_of[i]]);
    for (std::size_t set = 0; set < sums.size(); ++set)
      shared.push_back(scale * sums[set] / counts[set]);
  }

  std::vector<std::size_t> set_of;  ///< observation -> set of GPUs
  std::vector<double> shared;       ///< mean error of a set
  std::vector<double> own;          ///< what an observation differs from it
};

}  // namespace

FittedModel::FittedModel(std::shared_ptr<const StepTimeForm> form, std::span<const StepObservation> observations,
                         const PredictionOptions& options)
    : form_(std::move(form)),
      options_(options),
      fitted_(fit(*form_, observations, options.fit)),
      error_(mean_absolute_error(*form_, fitted_.values, observations)),
      sizes_(sizes_of(observations)) {
  growth_ = rehearse(observations);
  resample(observations);
}

// How fast errors grow beyond the measured sizes is measured too: a model of the smaller numbers of GPUs predicts the
// larger ones. Of at most half the most GPUs, so that they grow by a doubling, or else of all but the most.
double FittedModel::rehearse(std::span<const StepObservation> observations) const {
  const double most = sizes_.front().most;
  double next = 0;
  for (const StepObservation& observation : observations)
    if (observation.at.gpus < most) next = std::max(next, static_cast<double>(observation.at.gpus));
  for (const double limit : {std::min(most / 2, next), next}) {
    std::vector<StepObservation> fewer;
    std::vector<StepObservation> more;
    for (const StepObservation& observation : observations)
      (observation.at.gpus <= limit ? fewer : more).push_back(observation);
    if (!fewer.empty() && comparable(sizes_of(fewer), sizes_))
      return growth_of(*form_, fit(*form_, fewer, options_.fit), more, limit);
  }
  return options_.usual_growth;
}

// Parametric bootstrap: measurements are simulated from the fit and its errors, and fitted again, which gives the
// spread that the values would have if all were measured again.
void FittedModel::resample(std::span<const StepObservation> observations) {
  const Errors errors(*form_, fitted_, observations);
  FitOptions options = options_.fit;
  options.max_iterations = kResampleIterations;
  Random random(options_.seed);
  const auto any_of = [&](const std::vector<double>& values) { return values[random.below(values.size())]; };
  for (int i = 0; i < options_.num_resamples; ++i) {
    std::vector<double> shared(errors.shared.size());
    for (double& error : shared)
      error = any_of(errors.shared);
    std::vector<StepObservation> simulated(observations.begin(), observations.end());
    for (std::size_t k = 0; k < simulated.size(); ++k)
      simulated[k].seconds = seconds(simulated[k].at) * std::exp(shared[errors.set_of[k]] + any_of(errors.own));
    // From another start each time, so that values that the measurements cannot separate differ between resamples.
    std::vector<double> start = fitted_.values;
    for (double& value : start)
      value *= std::exp(0.5 * random.normal());
    resampled_.push_back(refit(*form_, simulated, start, options).values);
    for (int draw = 0; draw < kDraws; ++draw) {
      errors_.push_back(any_of(errors.shared) + any_of(errors.own) + kLeastError * random.normal());
      growths_.push_back(growth_ * random.normal());
    }
  }
}

Prediction FittedModel::predict(const StepPoint& at) const {
  Prediction result;
  result.seconds = seconds(at);
  result.low = result.high = result.seconds;
  // A draw is a resampled model with the errors of a step on GPUs of its own, and, beyond the measured numbers of GPUs,
  // an error that grows with each doubling.
  const double doublings = std::max(std::log2(at.gpus / sizes_.front().most), 0.0);
  std::vector<double> samples;
  for (std::size_t i = 0; i < resampled_.size(); ++i) {
    const double fitted = seconds_at(*form_, resampled_[i], at);
    for (std::size_t draw = 0; draw < kDraws; ++draw)
      samples.push_back(fitted * std::exp(errors_[i * kDraws + draw] + doublings * growths_[i * kDraws + draw]));
  }
  if (!samples.empty()) {
    result.low = std::min(result.seconds, percentile(samples, (1 - options_.probability) / 2));
    result.high = std::max(result.seconds, percentile(samples, (1 + options_.probability) / 2));
  }
  result.trust = judge(at, result.uncertainty(), result.reason);
  return result;
}

Trust FittedModel::judge(const StepPoint& at, double uncertainty, std::string_view& reason) const {
  const bool links_known =
      std::ranges::any_of(options_.fit.known, [](const auto& value) { return value && *value > 0; });
  Trust result = Trust::measured;
  for (const SizeRange& size : sizes_) {
    const double value = size.of(at);
    if (value >= size.least && value <= size.most) continue;
    // What is divided for the first time (over several nodes, stages, ...) adds terms that no measurement contains.
    // Only links that were measured apart can stand in for them.
    const bool unseen = size.splits && size.most <= 1 && !links_known;
    const bool far = value > options_.max_factor * size.most || value * options_.max_factor < size.least;
    if (unseen || (far && uncertainty >= options_.max_uncertainty)) {
      reason = size.name;
      return Trust::refused;
    }
    result = Trust::extrapolated;
  }
  return result;
}

}  // namespace multicard
