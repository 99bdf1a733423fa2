#pragma once
/// \file The NCCL of this process, loaded when it is first needed. Not linked: a program that cannot find it could not
/// even say so.

#include <string>

namespace multicard {

struct NcclLibrary {
  void* handle = nullptr;  ///< null when it could not be loaded
  std::string error;       ///< the loader's words then
  std::string path;        ///< where it was found
};

/// Loads libnccl.so.2 on the first call and keeps it. NCCL's functions as <nccl.h> declares them call into it.
const NcclLibrary& nccl_library();

}  // namespace multicard
