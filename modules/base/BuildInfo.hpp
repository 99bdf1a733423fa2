#pragma once
/// \file What this program was built from.

#include <string>

namespace multicard {

struct BuildInfo {
  std::string version;    ///< "0.1.0"
  std::string git;        ///< commit and "-dirty", or "unknown"
  std::string compiler;   ///< "GNU 12.2.0"
  std::string flags;      ///< build type and flags
  std::string torch;      ///< "2.11.0"
  bool cuda_compiled_in;  ///< whether the GPU path was compiled
};

BuildInfo build_info();

}  // namespace multicard
