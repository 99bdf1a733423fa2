#pragma once
/// \file What a deck says of training on preference pairs.

#include <optional>

#include "config/DeckKey.hpp"
#include "config/Words.hpp"

namespace multicard {

/// method.loss
enum class PreferenceLoss { sigmoid, robust, ipo, hinge };
inline constexpr Word<PreferenceLoss> kPreferenceLossWords[] = {{"sigmoid", PreferenceLoss::sigmoid},
                                                                {"robust", PreferenceLoss::robust},
                                                                {"ipo", PreferenceLoss::ipo},
                                                                {"hinge", PreferenceLoss::hinge}};

/// method.reference: where the log-probabilities of the reference model come from.
enum class Reference {
  adapters_off,  ///< the trained model without its adapters
  copy,          ///< a frozen copy of the model as it starts, its adapter included
  cached         ///< computed once, before training, as by the default of the method, and kept in a file
};
inline constexpr Word<Reference> kReferenceWords[] = {
    {"adapters-off", Reference::adapters_off}, {"copy", Reference::copy}, {"cached", Reference::cached}};

struct PreferenceOptions {
  double beta = 0.1;  ///< how much a reward weighs that the policy moves away from the reference
  PreferenceLoss loss = PreferenceLoss::sigmoid;
  double label_smoothing = 0;          ///< share of pairs believed to be labelled the wrong way round
  std::optional<bool> length_average;  ///< log-probabilities are means over targets; none: with ipo alone
  Reference reference = Reference::adapters_off;

  bool averages_lengths() const { return length_average.value_or(loss == PreferenceLoss::ipo); }
};

/// Whether the method in question trains on pairs.
enum class Pairs { no, yes };

/// The keys of the section method that belong to preference pairs.
/// \param default_reference what the method compares with unless the deck says otherwise
PreferenceOptions read_preference_options(Section& method, Pairs pairs, Reference default_reference);

DeckKeys preference_keys();

}  // namespace multicard
