#pragma once
/// \file What the fuzz targets share. A target is one .cpp file that defines kDocumentedCodes and read(); Target.cpp
/// holds every input to the contract: read() returns, or throws an Error with one of these codes.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/Error.hpp"

namespace multicard::fuzz {

/// Exit codes of the errors that inputs of this kind may end with (docs/exit_codes.md).
extern const std::vector<ExitCode> kDocumentedCodes;
/// Gives the input to the reader under test.
void read(std::string_view input);

/// Runs `body` and holds what it throws to the contract.
void run(const std::function<void()>& body);

/// Ends the process: libFuzzer keeps the input, the corpus test fails.
[[noreturn]] void report_finding(const std::string& what);
inline void require(bool holds, const char* what) {
  if (!holds) report_finding(what);
}

/// A file in memory for readers that take paths, in a folder of this process that is removed at its end. Returns its
/// path. The last content is replaced.
std::string scratch_file(const std::string& name, std::string_view content);
/// The folder of these files.
const std::string& scratch_folder();

}  // namespace multicard::fuzz
