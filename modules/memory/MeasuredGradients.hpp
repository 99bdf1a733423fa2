#pragma once
/// \file Gradients of models that are measured without a strategy.

#include "state/NamedTensor.hpp"
#include "tasks/interface/MeasuredModel.hpp"
#include "train/Model.hpp"

namespace multicard {

/// Makes room for the gradients of all parameters, those that are split over ranks and those that are whole, which are
/// returned.
NamedTensors make_gradients(Model& model);
/// Backward of a pass that is measured. What is split is summed, and left at zero. \param model used as long as this
Backward measured_backward(Model& model);

/// Bytes of the largest of those that have at most `most_dimensions`.
std::int64_t largest_of(const NamedTensors& tensors, std::int64_t most_dimensions);

}  // namespace multicard
