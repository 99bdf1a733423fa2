#pragma once
/// \file What the ranks of a run used of their machines, from its samples.

#include <vector>

#include "base/Estimate.hpp"
#include "results/ResultsReader.hpp"

namespace multicard {

/// What one rank used while it trained (`resources` of the results file). Unknown where it was not recorded.
struct RankResources {
  double cpu_cores = kNone;                                   ///< that its threads kept busy, mean
  double involuntary_switches = kNone, major_faults = kNone;  ///< a second
  double core_wait = kNone;       ///< share of the time in which the training thread was ready to run and had no core
  double resident_bytes = kNone;  ///< largest
  double storage_read_bytes = kNone, storage_written_bytes = kNone;        ///< a second
  double gpu_busy = kNone, gpu_power_w = kNone, gpu_sm_clock_mhz = kNone;  ///< means over time
  double gpu_energy_j = kNone;                                             ///< total
  double gpu_temperature_c = kNone;                                        ///< largest
  double gpu_throttled = kNone;  ///< share of the time in which power, heat or the hardware lowered the clocks
};

/// Over all samples, by rank; empty for runs of versions that took none.
std::vector<RankResources> reduce_resources(const RunData& run);

}  // namespace multicard
