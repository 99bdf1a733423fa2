#pragma once
/// \file What a model fitted to the steps of a configuration predicts for other numbers of ranks.

#include <cstddef>
#include <optional>
#include <vector>

#include "postproc/reduce/Statistics.hpp"

namespace multicard::post {

struct Study;

/// A configuration on some number of ranks, as its model has it.
struct PredictedRate {
  int ranks = 0;
  Estimate rate;            ///< per second, over all ranks, with the interval of a next run
  double efficiency = 1;    ///< against the model's rate on the smallest measured number of ranks
  bool is_measured = true;  ///< within the measured numbers of ranks
};

/// The model of scheduling/model/StepTimeModel.hpp, fitted to the median step times of a configuration's runs.
struct ScalingPrediction {
  std::size_t configuration = 0;
  bool is_on_one_node = true;           ///< so that all predicted ranks are taken to be on it
  double error = 0;                     ///< mean of |predicted / measured - 1| over the runs
  std::vector<PredictedRate> points;    ///< the measured numbers of ranks, then twice as many while they are trusted
  std::optional<int> inefficient_from;  ///< fewest ranks with an efficiency below kWorthwhileEfficiency
};

/// More ranks than keep this efficiency are usually spent better elsewhere.
inline constexpr double kWorthwhileEfficiency = 0.8;

/// One for each configuration that completed on three numbers of ranks or more, all of them with the same global batch
/// or all with the same batch per rank. Further ranks are taken to be on nodes as full as the fullest measured one, or
/// on the same node where only one was measured.
std::vector<ScalingPrediction> predict_scaling(const Study& study);

}  // namespace multicard::post
