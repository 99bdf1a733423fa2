#pragma once
// Work that takes a known time of a processor.

#include "base/ProcessUse.hpp"

namespace multicard::test {

/// Returns when the threads of this process have computed for `cpu_s` seconds together.
inline void compute_for(double cpu_s) {
  const double end = process_use().cpu_s + cpu_s;
  while (process_use().cpu_s < end) {
  }
}

}  // namespace multicard::test
