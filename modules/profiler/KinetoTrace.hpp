#pragma once
/// \file Events of Kineto in this process as a trace; for modules/profiler only.

#include <vector>

#include <torch/csrc/autograd/profiler_kineto.h>

#include "profiler/KinetoSession.hpp"

namespace multicard {

KinetoTrace trace_of(const std::vector<torch::autograd::profiler::KinetoEvent>& events, Shapes shapes);

}  // namespace multicard
