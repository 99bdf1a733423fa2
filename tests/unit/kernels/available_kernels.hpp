#pragma once

#include <vector>

#include "kernels/cpu/InstructionSets.hpp"

namespace multicard {

/// The kernels of every instruction set, the baseline's first; in place of those that this CPU lacks, the best it has.
template <typename S>
std::vector<CpuKernels<S>> available_kernels() {
  std::vector<CpuKernels<S>> list;
  for (const char* limit : {"default", "avx2", ""})
    list.push_back(best_kernels<S>(limit));
  return list;
}

}  // namespace multicard
