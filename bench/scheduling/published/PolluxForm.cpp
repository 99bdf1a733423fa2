#include "published/PolluxForm.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace multicard {
namespace {

enum Parameter : std::size_t { alpha_c, beta_c, alpha_r, beta_r, alpha_n, beta_n, gamma_p, num_parameters };
constexpr std::array<FormParameter, num_parameters> kParameters{{
    {"alpha_c", 0.3},
    {"beta_c", 0.3},
    {"alpha_r", 0.1},
    {"beta_r", 0.01},
    {"alpha_n", 0.1},
    {"beta_n", 0.01},
    {"gamma", 1.5, 1.0, 10.0},
}};

}  // namespace

std::span<const FormParameter> PolluxForm::parameters() const {
  return kParameters;
}

double PolluxForm::seconds(const StepPoint& at, std::span<const double> values, std::span<double> gradient) const {
  std::ranges::fill(gradient, 0.0);
  const double computing = values[alpha_c] + values[beta_c] * at.rows_per_gpu;
  const std::size_t alpha = at.nodes > 1 ? alpha_n : alpha_r;
  const std::size_t beta = at.nodes > 1 ? beta_n : beta_r;
  const double steps = std::max(at.gpus - 2, 0);
  const double reducing = at.gpus > 1 ? values[alpha] + values[beta] * steps : 0;
  const double g = values[gamma_p];
  const double larger = std::max(computing, reducing);
  const double c = std::pow(computing / larger, g);
  const double r = reducing > 0 ? std::pow(reducing / larger, g) : 0;
  const double norm = larger * std::pow(c + r, 1 / g);
  const double by_computing = norm * c / ((c + r) * computing) + at.accumulation;
  gradient[alpha_c] = by_computing;
  gradient[beta_c] = by_computing * at.rows_per_gpu;
  if (reducing > 0) {
    const double by_reducing = norm * r / ((c + r) * reducing);
    gradient[alpha] = by_reducing;
    gradient[beta] = by_reducing * steps;
    const double logs = (c * std::log(computing) + r * std::log(reducing)) / (c + r);
    gradient[gamma_p] = norm * (logs - std::log(norm)) / g;
  }
  return norm + at.accumulation * computing;
}

std::vector<bool> PolluxForm::identifiable(std::span<const StepObservation> observations) const {
  bool near = false;
  bool far = false;
  for (const StepObservation& observation : observations) {
    near = near || (observation.at.nodes == 1 && observation.at.gpus > 1);
    far = far || observation.at.nodes > 1;
  }
  return {true, true, near, near, far, far, near || far};
}

std::vector<double> PolluxForm::start(std::span<const StepObservation> observations) const {
  double seconds = 0;
  double rows = 0;
  for (const StepObservation& observation : observations) {
    seconds += std::log(observation.seconds) / static_cast<double>(observations.size());
    rows += std::log(observation.at.rows_per_gpu) / static_cast<double>(observations.size());
  }
  std::vector<double> values(kParameters.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = kParameters[i].start * std::exp(seconds);
  values[beta_c] /= std::exp(rows);
  values[gamma_p] = kParameters[gamma_p].start;
  return values;
}

std::vector<StepTimeForm::Penalty> PolluxForm::penalties(std::span<const double> values) const {
  std::vector<Penalty> result(3, Penalty{.gradient = std::vector<double>(num_parameters, 0.0)});
  // The published weights of squares are 1e-3 and 1e-2, added to a root mean square error. Added to its square they are
  // twice that error, of 8 % usually, times as large.
  const double overlap = std::sqrt(0.16 * 1e-3);
  const double growth = std::sqrt(0.16 * 1e-2);
  result[0].residual = overlap * (values[gamma_p] - 1);
  result[0].gradient[gamma_p] = overlap;
  for (const auto& [row, alpha, beta] : {std::array{1UL, 2UL, 3UL}, std::array{2UL, 4UL, 5UL}}) {
    if (values[alpha] <= 0) continue;
    result[row].residual = growth * values[beta] / values[alpha];
    result[row].gradient[beta] = growth / values[alpha];
    result[row].gradient[alpha] = -result[row].residual / values[alpha];
  }
  return result;
}

}  // namespace multicard
