#pragma once
/// \file What devices can compute at most, by their makers' data sheets.

#include <optional>
#include <string>

#include "device/Precision.hpp"

namespace multicard {

/// Dense matrix products of this precision on a GPU of this name, in operations per second; none for a device or a
/// precision that the table does not know, CPUs among them.
std::optional<double> peak_flops_per_s(const std::string& device_name, Precision precision);

}  // namespace multicard
