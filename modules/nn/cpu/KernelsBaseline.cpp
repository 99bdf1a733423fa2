#include "nn/cpu/InstructionSets.hpp"
#include "nn/cpu/PlaneKernelsBody.hpp"
#include "nn/cpu/RowKernelsBody.hpp"

namespace multicard {

template <>
CpuKernels<float> InstructionSet<float>::baseline() {
  return {&kRowKernels<float>, &kPlaneKernels<float>};
}
template <>
CpuKernels<double> InstructionSet<double>::baseline() {
  return {&kRowKernels<double>, &kPlaneKernels<double>};
}

}  // namespace multicard
