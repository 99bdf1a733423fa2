#pragma once
/// \file What the results file says of the variants of a sweep.

#include <optional>
#include <string>

#include "base/Error.hpp"
#include "config/SweepOptions.hpp"
#include "results/Columns.hpp"
#include "tasks/options/Variant.hpp"
#include "train/Progress.hpp"

namespace multicard {

/// What all variants of a sweep share.
struct SweepIdentity {
  SweepScale scale;
  std::string deck;                 ///< as it applies: base and section `quick` resolved
  std::optional<double> timeout_s;  ///< of a run
  Verbosity verbosity = Verbosity::progress;
};

/// What identifies a variant in the results file, which sweep it belongs to, and what it ended with.
void add_sweep_attributes(const Variant& variant, const SweepIdentity& sweep, ExitCode code, RunSummary& summary);

/// What the results file says of a run that never came to its own record. What the program would have chosen is
/// unknown.
void add_deck_attributes(const Deck& deck, RunSummary& summary);

}  // namespace multicard
