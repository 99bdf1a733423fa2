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
  int execution = 0;                             ///< position in time, see expand()
  int ranks = 1;                                 ///< the number of ranks, the first of the world
  int repeat = 0;                                ///< from 0
  std::string case_name;                         ///< empty without a cases axis
  std::map<std::string, std::string> overrides;  ///< every swept deck key as set here, "default" where it is not
  Deck deck;                                     ///< resolved: one run
  std::string error;                             ///< why the deck is refused, else empty: such a variant is not run

  /// The index of its first repeat.
  int cell() const { return index - repeat; }
};

/// All variants in the order written. In time, every variant runs once before any is repeated: a round begins with the
/// variants of most ranks, and the next one goes the same way back, so that a drift of the machine does not fall on the
/// same variants, or numbers of ranks, every time. \throws UnknownKeyError for a key that no deck has,
/// EnvironmentError when an axis asks for more than `world_size` ranks.
std::vector<Variant> expand(SweepOptions sweep, int world_size);

/// Takes the values above `world_size` from the axis of ranks, unless all are, and returns them.
std::vector<int> drop_ranks_above(SweepOptions& sweep, int world_size);

/// What the runs of a sweep take, judged by those that have run.
class SweepPace {
 public:
  void add(const Variant& variant, double seconds);
  /// Mean seconds of what ran of this variant (its repeats), else of all that ran on as many ranks, else of all. 0
  /// before anything has run.
  double expected(const Variant& variant) const;

 private:
  struct Past {
    int cell, ranks;
    double seconds;
  };
  std::vector<Past> past_;
};

}  // namespace multicard
