#pragma once
/// \file Whether runs write what they are at.

namespace multicard {

/// Whether there are status files, and files for Prometheus: unless MULTICARD_STATUS is off.
/// \throws UsageError for another word than on and off
bool is_status_wanted();

}  // namespace multicard
