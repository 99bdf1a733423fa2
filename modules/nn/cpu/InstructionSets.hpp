#pragma once
/// \file The kernels compiled for each instruction set; row_kernels() and plane_kernels() pick among them.

#include "nn/cpu/PlaneKernels.hpp"
#include "nn/cpu/RowKernels.hpp"

namespace multicard {

template <typename T>
struct CpuKernels {
  const RowKernels<T>* rows;
  const PlaneKernels<T>* planes;
};

template <typename T>
struct InstructionSet {
  static CpuKernels<T> baseline();
  static CpuKernels<T> avx2();
  static CpuKernels<T> avx512();
};

}  // namespace multicard
