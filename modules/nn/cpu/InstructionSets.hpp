#pragma once
/// \file The kernels compiled for each instruction set; row_kernels() and plane_kernels() pick among them.

#include "nn/cpu/PlaneKernels.hpp"
#include "nn/cpu/RowKernels.hpp"

namespace multicard {

template <typename S>
struct CpuKernels {
  const RowKernels<S>* rows;
  const PlaneKernels<S>* planes;
};

template <typename S>
struct InstructionSet {
  static CpuKernels<S> baseline();
  static CpuKernels<S> avx2();
  static CpuKernels<S> avx512();
};

}  // namespace multicard
