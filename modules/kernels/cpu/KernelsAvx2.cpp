#include "kernels/cpu/AdamwKernelsBody.hpp"
#include "kernels/cpu/FakeQuantKernelsBody.hpp"
#include "kernels/cpu/InstructionSets.hpp"
#include "kernels/cpu/PlaneKernelsBody.hpp"
#include "kernels/cpu/QuantKernelsBody.hpp"
#include "kernels/cpu/RowKernelsBody.hpp"
#include "kernels/cpu/TokenKernelsBody.hpp"

namespace multicard {

template <>
CpuKernels<float> InstructionSet<float>::avx2() {
  return {&kRowKernels<float>,   &kPlaneKernels<float>,     &kTokenKernels<float>,
          &kQuantKernels<float>, &kFakeQuantKernels<float>, &kAdamwKernels<float>};
}
template <>
CpuKernels<double> InstructionSet<double>::avx2() {
  return {&kRowKernels<double>,   &kPlaneKernels<double>,     &kTokenKernels<double>,
          &kQuantKernels<double>, &kFakeQuantKernels<double>, &kAdamwKernels<double>};
}
template <>
CpuKernels<Bfloat16> InstructionSet<Bfloat16>::avx2() {
  return {&kRowKernels<Bfloat16>,   &kPlaneKernels<Bfloat16>,     &kTokenKernels<Bfloat16>,
          &kQuantKernels<Bfloat16>, &kFakeQuantKernels<Bfloat16>, &kAdamwKernels<Bfloat16>};
}
template <>
CpuKernels<Float16> InstructionSet<Float16>::avx2() {
  return {&kRowKernels<Float16>,   &kPlaneKernels<Float16>,     &kTokenKernels<Float16>,
          &kQuantKernels<Float16>, &kFakeQuantKernels<Float16>, &kAdamwKernels<Float16>};
}

}  // namespace multicard
