#pragma once
/// \file Sweep decks: a matrix of variants of one run deck (docs/decks.md).

#include <optional>
#include <string>
#include <vector>

#include "config/Deck.hpp"
#include "config/Words.hpp"

namespace multicard {

/// The value of `sweep.ranks` that stands for 1, 2, 3, ... and all ranks of the job.
inline const Value kAllRanks = Value::scalar("all");

/// One axis as written: `key` is "ranks", "cases" or a deck path such as data.image_size.
struct SweepAxis {
  std::string key;
  std::vector<Value> values;

  /// The deck keys that it sets: none, those of all its cases, or its own.
  std::vector<std::string> deck_keys() const;
};

/// Whether a sweep is run as written, with what the section `quick` of its deck puts in place of the rest, or as a
/// smoke run (Smoke.hpp).
enum class SweepScale { full, quick, smoke };
inline constexpr Word<SweepScale> kSweepScaleWords[] = {
    {"full", SweepScale::full}, {"quick", SweepScale::quick}, {"smoke", SweepScale::smoke}};

struct SweepOptions {
  Deck base;                        ///< the base deck with the sweep's own keys and limits applied
  std::vector<SweepAxis> axes;      ///< in deck order
  int repeat = 1;                   ///< runs of every variant
  std::optional<double> timeout_s;  ///< seconds that a run may take
};

/// Reads a sweep deck and puts the deck that `base` names (relative to the sweep's file) in place of the name, so that
/// the result can be sent to other ranks as text. The section `quick` counts in quick and smoke sweeps, the section
/// `smoke` and shorten_sweep() in smoke sweeps, in this order; overrides have the last word. Neither section is left.
/// \param num_ranks of the job, for a smoke sweep
/// \throws UsageError as Deck::load, and when a deck without `quick` is to be quick.
Deck load_sweep_deck(const std::string& path, const std::vector<std::string>& overrides = {},
                     SweepScale scale = SweepScale::full, int num_ranks = 1);

/// \throws UsageError for a malformed sweep.
SweepOptions read_sweep_options(const Deck& sweep);

}  // namespace multicard
