#pragma once
/// \file The links of a machine, measured once for all tasks.

#include <optional>
#include <span>
#include <vector>

#include "scheduling/model/StepPoint.hpp"

namespace multicard {

/// The communication parameters of StepTimeModel from timed all-reduces of different sizes: `seconds` of an observation
/// is the time of one, `volume` its bytes. Give the result to FitOptions::known for tasks whose bytes are known. Levels
/// that were not measured stay open. Throws DataError when no observation has several GPUs.
std::vector<std::optional<double>> calibrate_links(std::span<const StepObservation> all_reduces);

}  // namespace multicard
