#pragma once
/// \file The runs that a sweep consists of.

#include <map>
#include <string>
#include <vector>

#include "config/Deck.hpp"
#include "config/SweepOptions.hpp"

namespace multicard {

/// One run of a sweep.
struct Variant {
  int index = 0;                                 ///< in the order written: the last axis, then repeat, changes fastest
  std::string name;                              ///< index as "0000": the run's group in the results file
  int execution = 0;                             ///< position in time: most ranks first, then repeat, then index
  int ranks = 1;                                 ///< the first so many ranks of the world
  int repeat = 0;                                ///< from 0
  std::string case_name;                         ///< empty without a cases axis
  std::map<std::string, std::string> overrides;  ///< every swept deck key as set here, "default" where it is not
  Deck deck;                                     ///< resolved: one run
  std::string error;                             ///< why the deck is refused, else empty: such a variant is not run
};

/// All variants in the order written. \throws UnknownKeyError for a key that no deck has, EnvironmentError when an axis
/// asks for more than `world_size` ranks.
std::vector<Variant> expand(const SweepOptions& sweep, int world_size);

}  // namespace multicard
