#pragma once
/// \file Unsealed results files, which may crash libhdf5, are first read in a child process.

#include <functional>
#include <string>

namespace multicard::post {

/// Reads all of `path` in a process of its own, unless it is sealed (io/Seal.hpp): libhdf5 may crash on a damaged file,
/// or never return. Other errors are left to the real reading, which need not check the seal again.
/// \throws DataError when libhdf5 crashes or does not finish, EnvironmentError when the process is killed (the kernel
/// does so where memory is short) or cannot be started
void read_on_trial(const std::string& path);
/// The same for an unsealed file, with another function that reads it.
void read_on_trial(const std::string& path, const std::function<void()>& reading);

}  // namespace multicard::post
