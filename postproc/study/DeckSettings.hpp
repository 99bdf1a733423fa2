#pragma once
/// \file Settings in which runs differ although no sweep set them.

#include <vector>

#include "postproc/reduce/RunReport.hpp"
#include "postproc/study/KeyTable.hpp"

namespace multicard::post {

/// Adds to the settings of `runs` what their resolved decks say of a key (its path) in which two runs differ that no
/// sweep distinguishes: single runs given together, or sweeps of other bases. Otherwise they would pass for repeats of
/// one configuration. Keys of evaluations, which are no part of a step, keys that the files do not describe, those of
/// bookkeeping and those that some deck lacks (the option of another method) are left out. Numbers are compared by
/// value: 4e-05 is 4.0e-5.
void add_deck_settings(std::vector<RunReport>& runs, const KeyTable& keys);

/// Whether two values of decks are the same: as texts, or as numbers.
bool same_value(const std::string& a, const std::string& b);

}  // namespace multicard::post
