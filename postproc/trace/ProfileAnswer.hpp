#pragma once
/// \file The title of a page of profiles.

#include <cstddef>
#include <string>
#include <vector>

#include "profile/Profile.hpp"

namespace multicard::post {

/// How much of the time GPUs were busy and which kernel took most of it, over all ranks; where no work of a GPU was
/// recorded the operator that took most time of the host. Without a full stop; empty where neither is known.
/// \param num_ranks that the profiles are of, of which one may be the sum of several
std::string profile_answer(const std::vector<const Profile*>& profiles, std::size_t num_ranks);

}  // namespace multicard::post
