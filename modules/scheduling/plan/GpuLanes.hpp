#pragma once
/// \file Which GPUs the entries of a schedule have.

#include <cstddef>
#include <vector>

#include "scheduling/solve/Schedule.hpp"

namespace multicard {

/// GPUs next to each other that an entry of a schedule has.
struct GpuBlock {
  std::size_t entry = 0;
  int first = 0, count = 0;
};

/// The blocks of all entries, in the order of the schedule: one for each entry where enough free GPUs lie next to each
/// other, else several.
std::vector<GpuBlock> gpu_blocks(const TaskSchedule& schedule, int num_gpus);

}  // namespace multicard
