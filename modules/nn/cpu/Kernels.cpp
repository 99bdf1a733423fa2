#include "nn/cpu/InstructionSets.hpp"

namespace multicard {
namespace {

template <typename T>
CpuKernels<T> chosen() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("fma"))
    return InstructionSet<T>::avx512();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
    return InstructionSet<T>::avx2();
  return InstructionSet<T>::baseline();
}

template <typename T>
const CpuKernels<T>& kernels() {
  static const CpuKernels<T> value = chosen<T>();
  return value;
}

}  // namespace

template <>
const RowKernels<float>& row_kernels<float>() {
  return *kernels<float>().rows;
}
template <>
const RowKernels<double>& row_kernels<double>() {
  return *kernels<double>().rows;
}
template <>
const PlaneKernels<float>& plane_kernels<float>() {
  return *kernels<float>().planes;
}
template <>
const PlaneKernels<double>& plane_kernels<double>() {
  return *kernels<double>().planes;
}

}  // namespace multicard
