#pragma once
/// \file The kernels compiled for each instruction set; row_kernels(), plane_kernels(),
/// token_kernels(), quant_kernels(), fake_quant_kernels() and adamw_kernels() pick among them.

#include <string_view>

#include "kernels/cpu/AdamwKernels.hpp"
#include "kernels/cpu/FakeQuantKernels.hpp"
#include "kernels/cpu/PlaneKernels.hpp"
#include "kernels/cpu/QuantKernels.hpp"
#include "kernels/cpu/RowKernels.hpp"
#include "kernels/cpu/TokenKernels.hpp"

namespace multicard {

template <typename S>
struct CpuKernels {
  const RowKernels<S>* rows;
  const PlaneKernels<S>* planes;
  const TokenKernels<S>* tokens;
  const QuantKernels<S>* quant;
  const FakeQuantKernels<S>* fake_quant;
  const AdamwKernels<S>* adamw;
};

template <typename S>
struct InstructionSet {
  static CpuKernels<S> baseline();
  static CpuKernels<S> avx2();
  static CpuKernels<S> avx512();
};

/// The best kernels that this CPU can run. `limit` is the value of ATEN_CPU_CAPABILITY, which LibTorch's own kernels
/// obey, too: "avx2" and "default" exclude better instruction sets, anything else excludes none.
template <typename S>
CpuKernels<S> best_kernels(std::string_view limit);

}  // namespace multicard
