#pragma once
/// \file Names that the writer and the reader of the results file share.

#include <cstdint>
#include <string_view>
#include <utility>

#include "results/Columns.hpp"

namespace multicard::schema {

inline constexpr const char* kFormat = "multicard-results";
/// Raised when a reader of the version before could misread the file.
inline constexpr std::int64_t kVersion = 1;

inline constexpr const char* kRuns = "/runs";
inline constexpr const char* kProvenance = "/provenance";
inline constexpr const char* kEnvironment = "/provenance/environment";
inline constexpr const char* kKeys = "/keys";
inline constexpr const char* kAllocation = "/allocation";

/// Attribute of a column of a table: how values of a row add up over the parts of a run.
inline constexpr const char* kMerge = "merge";
inline constexpr std::pair<std::string_view, Merge> kMergeWords[] = {{"total", Merge::total},
                                                                     {"largest", Merge::largest}};

}  // namespace multicard::schema
