#pragma once
/// \file The section profile of a deck.

#include <cstdint>

#include "config/DeckKey.hpp"

namespace multicard {

struct ProfileOptions {
  bool enabled = false;
  /// First steps that the statistics of step times leave out; the first window begins after them.
  std::int64_t skip_steps = 5;
  std::int64_t steps = 10;  ///< of each window
  std::int64_t repeat = 1;  ///< windows, with `skip_steps` steps between one and the next
  bool shapes = false;      ///< operators with the shapes of their inputs
  bool memory = false;      ///< what operators allocate
  bool trace = false;       ///< a time line of all ranks, for each window
};

/// \param profile the section profile
ProfileOptions read_profile_options(Section& profile);

/// The rows of the keys whose values this module defines.
DeckKeys profile_keys();

}  // namespace multicard
