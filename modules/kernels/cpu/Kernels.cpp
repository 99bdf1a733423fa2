#include <cstdlib>

#include "base/CpuFeatures.hpp"
#include "kernels/cpu/InstructionSets.hpp"

namespace multicard {
namespace {

template <typename S>
const CpuKernels<S>& kernels() {
  // The same text is compiled once for each instruction set (Kernels*.cpp), all of it in unnamed namespaces: of
  // functions with one name the linker would keep one, perhaps that with instructions which this CPU does not have.
  static const CpuKernels<S> value = [] {
    const char* const limit = std::getenv("ATEN_CPU_CAPABILITY");  // NOLINT(concurrency-mt-unsafe): nothing sets it
    return best_kernels<S>(limit == nullptr ? "" : limit);
  }();
  return value;
}

}  // namespace

template <typename S>
CpuKernels<S> best_kernels(std::string_view limit) {
  if (limit == "default") return InstructionSet<S>::baseline();
  // Every feature that the compiler was allowed to use for that source, not the vector units alone.
  if (limit != "avx2" && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
      __builtin_cpu_supports("fma") && cpu_has_f16c())
    return InstructionSet<S>::avx512();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") &&
      cpu_has_f16c())
    return InstructionSet<S>::avx2();
  return InstructionSet<S>::baseline();
}

template <typename S>
const RowKernels<S>& row_kernels() {
  return *kernels<S>().rows;
}
template <typename S>
const PlaneKernels<S>& plane_kernels() {
  return *kernels<S>().planes;
}
template <typename S>
const TokenKernels<S>& token_kernels() {
  return *kernels<S>().tokens;
}
template <typename S>
const QuantKernels<S>& quant_kernels() {
  return *kernels<S>().quant;
}
template <typename S>
const FakeQuantKernels<S>& fake_quant_kernels() {
  return *kernels<S>().fake_quant;
}
template <typename S>
const AdamwKernels<S>& adamw_kernels() {
  return *kernels<S>().adamw;
}

template CpuKernels<float> best_kernels(std::string_view);
template CpuKernels<double> best_kernels(std::string_view);
template CpuKernels<Bfloat16> best_kernels(std::string_view);
template CpuKernels<Float16> best_kernels(std::string_view);
template const RowKernels<float>& row_kernels();
template const RowKernels<double>& row_kernels();
template const RowKernels<Bfloat16>& row_kernels();
template const RowKernels<Float16>& row_kernels();
template const PlaneKernels<float>& plane_kernels();
template const PlaneKernels<double>& plane_kernels();
template const PlaneKernels<Bfloat16>& plane_kernels();
template const PlaneKernels<Float16>& plane_kernels();
template const TokenKernels<float>& token_kernels();
template const TokenKernels<double>& token_kernels();
template const TokenKernels<Bfloat16>& token_kernels();
template const TokenKernels<Float16>& token_kernels();
template const QuantKernels<float>& quant_kernels();
template const QuantKernels<double>& quant_kernels();
template const QuantKernels<Bfloat16>& quant_kernels();
template const QuantKernels<Float16>& quant_kernels();
template const FakeQuantKernels<float>& fake_quant_kernels();
template const FakeQuantKernels<double>& fake_quant_kernels();
template const FakeQuantKernels<Bfloat16>& fake_quant_kernels();
template const FakeQuantKernels<Float16>& fake_quant_kernels();
template const AdamwKernels<float>& adamw_kernels();
template const AdamwKernels<double>& adamw_kernels();
template const AdamwKernels<Bfloat16>& adamw_kernels();
template const AdamwKernels<Float16>& adamw_kernels();

}  // namespace multicard
