#pragma once
/// \file What a sweep says: its plan, and how it ended. For rank 0; other ranks print nothing.

#include <string>
#include <vector>

#include "config/Variant.hpp"

namespace multicard {

/// "ranks 2  data.image_size 64  repeat 1"
std::string describe(const Variant& variant);

/// The variants in the order of their runs.
std::vector<const Variant*> in_order_of_time(const std::vector<Variant>& variants);

/// Logs a line for every run in the order of time, with its length, or why it is refused.
void log_plan(const std::vector<Variant>& variants);

/// Logs how many runs of a results file are complete, why the others are not, and where the file is. \throws DataError
/// when it cannot be read.
void log_sweep_end(const std::string& results);

}  // namespace multicard
