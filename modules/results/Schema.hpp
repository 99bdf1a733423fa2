#pragma once
/// \file Names that the writer and the reader of the results file share.

#include <cstdint>

namespace multicard::schema {

inline constexpr const char* kFormat = "multicard-results";
/// Raised when a reader of the version before could misread the file.
inline constexpr std::int64_t kVersion = 1;

inline constexpr const char* kRuns = "/runs";
inline constexpr const char* kProvenance = "/provenance";
inline constexpr const char* kEnvironment = "/provenance/environment";
inline constexpr const char* kKeys = "/keys";
inline constexpr const char* kAllocation = "/allocation";

}  // namespace multicard::schema
