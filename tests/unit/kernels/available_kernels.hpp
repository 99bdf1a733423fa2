#pragma once

#include <vector>

#include "base/CpuFeatures.hpp"
#include "kernels/cpu/InstructionSets.hpp"

namespace multicard {

/// The kernels of every instruction set that this CPU has, the baseline's first.
template <typename S>
std::vector<CpuKernels<S>> available_kernels() {
  std::vector<CpuKernels<S>> list{InstructionSet<S>::baseline()};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && cpu_has_f16c())
    list.push_back(InstructionSet<S>::avx2());
  if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
    list.push_back(InstructionSet<S>::avx512());
  return list;
}

}  // namespace multicard
