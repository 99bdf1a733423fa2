#pragma once
/// \file What the CPU can do that compilers' own queries do not all know.

#include <cpuid.h>

namespace multicard {

/// Whether the CPU converts between half and single precision (F16C): clang's __builtin_cpu_supports() does not know
/// the name before version 15.
inline bool cpu_has_f16c() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

}  // namespace multicard
