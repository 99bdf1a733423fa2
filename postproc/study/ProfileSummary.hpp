#pragma once
/// \file The profiles of a study's runs, by configuration and number of ranks.

#include <vector>

#include "postproc/reduce/ProfileSum.hpp"
#include "postproc/study/Study.hpp"

namespace multicard::post {

/// The windows of all ranks and repeats of a cell together.
struct CellProfile : ProfileSum {
  const Cell* cell = nullptr;

  bool has_gpu() const { return total.kernel_ns > 0; }
  /// Nanoseconds a step and rank.
  double per_step(std::int64_t ns) const { return static_cast<double>(ns) / static_cast<double>(rank_steps); }
};

/// Of the cells that have a profile, in the study's order. `study` must outlive them.
std::vector<CellProfile> cell_profiles(const Study& study);

}  // namespace multicard::post
