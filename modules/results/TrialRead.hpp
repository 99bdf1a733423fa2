#pragma once
/// \file Results files, which may crash libhdf5, are first read in a child process.

#include <functional>
#include <string>

namespace multicard {

/// Checks the seal of `path` (io/Seal.hpp), then reads all of it in a process of its own: libhdf5 may crash on a
/// damaged file, or never return, and a seal only shows damage after it was put on. Other errors are left to the
/// real reading, which need not check the seal again. Not while a GPU or a network card may use memory of this process.
/// \throws DataError when the seal is broken, or libhdf5 crashes or does not finish; EnvironmentError when the process
/// is killed (the kernel does so where memory is short) or cannot be started
void read_on_trial(const std::string& path);
/// The same without a seal, with another function that reads it.
void read_on_trial(const std::string& path, const std::function<void()>& reading);

}  // namespace multicard
