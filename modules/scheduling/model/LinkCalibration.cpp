#include "scheduling/model/LinkCalibration.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "scheduling/model/ModelFit.hpp"
#include "scheduling/model/StepTimeModel.hpp"

namespace multicard {

std::vector<std::optional<double>> calibrate_links(std::span<const StepObservation> all_reduces) {
  constexpr std::array kLocal{StepTerm::local_latency, StepTerm::local_log, StepTerm::local_volume};
  constexpr std::array kGlobal{StepTerm::global_latency, StepTerm::global_log, StepTerm::global_volume,
                               StepTerm::global_adapter, StepTerm::global_step};
  const auto index = [](StepTerm term) { return static_cast<std::size_t>(term); };
  std::vector<StepObservation> several;
  std::ranges::copy_if(all_reduces, std::back_inserter(several),
                       [](const StepObservation& observation) { return observation.at.gpus > 1; });
  // A lone all-reduce is a step without computation: those terms are 0. With the overlap 1, the norm of the model is a
  // plain sum, so that nothing hides the communication.
  const StepTimeModel form;
  FitOptions options;
  options.known.assign(index(StepTerm::count), 0.0);
  options.known[index(StepTerm::overlap)] = 1.0;
  for (const StepTerm term : kLocal)
    options.known[index(term)].reset();
  for (const StepTerm term : kGlobal)
    options.known[index(term)].reset();
  const FittedValues fitted = fit(form, several, options);

  std::vector<std::optional<double>> result(index(StepTerm::count));
  const auto take = [&](const auto& terms, bool measured) {
    for (const StepTerm term : terms)
      if (measured) result[index(term)] = fitted.values[index(term)];
  };
  // Values of a level that no all-reduce crossed are where the search started, and not known.
  take(kLocal, std::ranges::any_of(several, [](const auto& one) { return one.at.replicas_per_node() > 1; }));
  take(kGlobal, std::ranges::any_of(several, [](const auto& one) { return one.at.nodes > 1; }));
  return result;
}

}  // namespace multicard
