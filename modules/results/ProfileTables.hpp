#pragma once
/// \file Profiles as tables of a results file, /runs/<run>/profile/NAME.
///
/// What a table cannot hold because it does not add up over the parts of a run is left out: least values and medians.
/// Means and shares follow from the columns that are there.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "profile/Profile.hpp"
#include "results/Columns.hpp"
#include "results/RankRecord.hpp"

namespace multicard {

/// The tables of one rank by path in the run ("profile/calls"), those that have rows. With several windows, counts,
/// times and bytes are totals, and the 95th percentile is the largest of theirs.
std::map<std::string, RankTable> tables_of_profile(const Profile& profile);

/// Reads the profiles of a run rank by rank, in the order of ranks. Their rows are in the order of the file, and they
/// have no shares. \throws DataError where a key that is a number is none
void for_each_profile(const std::map<std::string, Table>& tables, const std::function<void(Profile)>& take);

/// The profiles of all ranks of a run with their shares, rows in order (sort_rows()), in the order of ranks; none where
/// it has recorded none. \throws DataError where a key that is a number is none
std::vector<Profile> read_profiles(const std::map<std::string, Table>& tables);

}  // namespace multicard
