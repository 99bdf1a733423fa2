#pragma once
/// \file Profiles of several ranks and runs as one.

#include <cstdint>
#include <vector>

#include "profile/Profile.hpp"

namespace multicard::post {

/// The windows of some ranks together.
struct ProfileSum {
  std::int64_t rank_steps = 0;  ///< steps, each rank's counted
  /// Counts and totals of calls, kernels, copies, collectives, phases, operators and functions of MPI. Nothing else in
  /// it is of all.
  Profile total;
};

ProfileSum sum_of(const std::vector<Profile>& of_ranks);

/// Of runs. Its shares follow from the totals, and its rows are in order (sort_rows()).
ProfileSum sum_of(const std::vector<const ProfileSum*>& of_runs);

}  // namespace multicard::post
