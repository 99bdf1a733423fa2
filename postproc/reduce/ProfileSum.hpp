#pragma once
/// \file Profiles of several ranks and runs as one.

#include <cstdint>
#include <memory>
#include <vector>

#include "profile/Profile.hpp"

namespace multicard::post {

/// The windows of some ranks together.
struct ProfileSum {
  std::int64_t rank_steps = 0;  ///< steps, each rank's counted
  /// Counts, totals, bytes and costs are added, percentiles and largest values the largest of any rank; GPUs are one
  /// row, and streams of one number, too.
  Profile total;
};

/// Adds up profiles, one at a time.
class ProfileAdder {
 public:
  ProfileAdder();
  ~ProfileAdder();
  ProfileAdder(const ProfileAdder&) = delete;
  ProfileAdder& operator=(const ProfileAdder&) = delete;

  void add(const Profile& profile, std::int64_t rank_steps);
  /// What was added. Its rows are in the order in which they came, and it has no shares.
  ProfileSum take();

 private:
  struct Tables;
  std::unique_ptr<Tables> tables_;
};

ProfileSum sum_of(const std::vector<Profile>& of_ranks);

/// Of runs. Its shares follow from the totals, and its rows are in order (sort_rows()).
ProfileSum sum_of(const std::vector<const ProfileSum*>& of_runs);

}  // namespace multicard::post
