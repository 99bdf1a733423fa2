#pragma once
/// \file The keys of decks as results files say them.

#include <vector>

#include "results/SettingKey.hpp"

namespace multicard {

/// All keys of run decks that this program knows.
std::vector<SettingKey> known_setting_keys();

}  // namespace multicard
