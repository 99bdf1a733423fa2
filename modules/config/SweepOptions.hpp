#pragma once
/// \file Sweep decks: a matrix of variants of one run deck (docs/decks.md).

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/Deck.hpp"

namespace multicard {

/// One axis as written: `key` is "ranks", "cases" or a deck path such as data.image_size.
struct SweepAxis {
  std::string key;
  std::vector<Value> values;
};

struct SweepOptions {
  Deck base;                    ///< the base deck with the sweep's own keys and limits applied
  std::vector<SweepAxis> axes;  ///< in deck order
  int repeat = 1;               ///< runs of every variant
};

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

/// Reads a sweep deck and puts the deck that its `base` names (relative to the sweep's file) in place of the name, so
/// that the result can be sent to other ranks as text. \throws UsageError as Deck::load.
Deck load_sweep_deck(const std::string& path, const std::vector<std::string>& overrides = {});

/// \throws UsageError for a malformed sweep.
SweepOptions read_sweep_options(const Deck& sweep);

/// All variants in the order written. \throws UnknownKeyError for a key that no deck has, EnvironmentError when an axis
/// asks for more than `world_size` ranks.
std::vector<Variant> expand(const SweepOptions& sweep, int world_size);

}  // namespace multicard
