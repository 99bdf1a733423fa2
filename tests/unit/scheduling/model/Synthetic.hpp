#pragma once
// Steps of a made-up task: known parameters, chosen noise.
#include <array>
#include <vector>

#include "scheduling/model/ModelFit.hpp"
#include "scheduling/model/Random.hpp"
#include "scheduling/model/StepTimeModel.hpp"

namespace multicard::test {

inline double& term(std::vector<double>& values, StepTerm which) {
  return values[static_cast<std::size_t>(which)];
}

inline std::vector<double> true_values() {
  std::vector<double> values(static_cast<std::size_t>(StepTerm::count), 0.0);
  term(values, StepTerm::compute_base) = 0.05;
  term(values, StepTerm::compute_row) = 0.004;
  term(values, StepTerm::local_latency) = 0.01;
  term(values, StepTerm::local_log) = 0.01;
  term(values, StepTerm::global_latency) = 0.1;
  term(values, StepTerm::global_log) = 0.03;
  term(values, StepTerm::global_step) = 0.001;
  term(values, StepTerm::overlap) = 2;
  return values;
}

/// `gpus` on nodes of four.
inline StepPoint on_nodes_of_four(int gpus, double rows) {
  std::vector<int> gpus_of_nodes;
  for (int left = gpus; left > 0; left -= 4)
    gpus_of_nodes.push_back(std::min(left, 4));
  return placed(gpus_of_nodes, rows);
}

/// Steps on 1 to `max_gpus` GPUs with seven batches, `repeats` times, whose logarithms have errors of deviation
/// `noise`.
inline std::vector<StepObservation> steps(int max_gpus, int repeats, double noise, std::uint64_t seed) {
  Random random(seed);
  std::vector<StepObservation> result;
  for (int gpus = 1; gpus <= max_gpus; gpus += gpus < 4 ? 1 : 2)
    for (const double rows : {4, 8, 16, 32, 64, 128, 256})
      for (int repeat = 0; repeat < repeats; ++repeat) {
        const StepPoint at = on_nodes_of_four(gpus, rows);
        result.push_back({at, seconds_at(StepTimeModel(), true_values(), at) * std::exp(noise * random.normal())});
      }
  return result;
}

}  // namespace multicard::test
