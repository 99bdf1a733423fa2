#include "nn/options/PreferenceOptions.hpp"

#include <limits>

#include "nn/options/ModelOptions.hpp"

namespace multicard {

namespace {

bool trains_on_pairs(const MethodRow& row) {
  return row.objective == MethodObjective::preference;
}

/// Values other than the defaults, which resolved decks of all methods have.
void reject_keys_of_pairs(Section& section, const PreferenceOptions& options, Reference default_reference) {
  const PreferenceOptions defaults;
  const auto reject = [&](const char* key) {
    section.reject(key, "belongs to " + methods_where(trains_on_pairs), "method.name is another one", "Remove it.");
  };
  if (options.beta != defaults.beta) reject("beta");
  if (options.loss != defaults.loss) reject("loss");
  if (options.label_smoothing != defaults.label_smoothing) reject("label_smoothing");
  if (options.length_average) reject("length_average");
  if (options.reference != default_reference) reject("reference");
}

// Robust DPO divides by 1 - 2 e, and conservative DPO prefers the rejected answers beyond e = 0.5.
void check_together(Section& section, const PreferenceOptions& options, Reference default_reference) {
  const bool smooths = options.loss == PreferenceLoss::sigmoid || options.loss == PreferenceLoss::robust;
  if (options.label_smoothing != 0 && !smooths)
    section.reject("label_smoothing", "is for the losses sigmoid and robust", "method.loss is another one",
                   "Remove it.");
  if (options.label_smoothing >= 0.5)
    section.reject("label_smoothing", "must be below 0.5",
                   "with half of the pairs the wrong way round they say nothing");
  if (options.reference == Reference::adapters_off && default_reference != Reference::adapters_off)
    section.reject("reference", "adapters-off needs adapters", "method dpo trains all weights",
                   "Use copy or cached, or method lora-dpo.");
}

}  // namespace

PreferenceOptions read_preference_options(Section& section, Pairs pairs, Reference default_reference) {
  PreferenceOptions options;
  options.beta = section.get_in_range("beta", options.beta, kAboveZero, std::numeric_limits<double>::max());
  options.loss = section.choice("loss", options.loss, kPreferenceLossWords);
  options.label_smoothing = section.get_in_range("label_smoothing", options.label_smoothing, 0.0, kBelowOne);
  options.length_average = section.optional<bool>("length_average");
  options.reference = section.choice("reference", default_reference, kReferenceWords);
  if (pairs == Pairs::yes)
    check_together(section, options, default_reference);
  else
    reject_keys_of_pairs(section, options, default_reference);
  return options;
}

DeckKeys preference_keys() {
  using enum KeyTasks;
  using enum KeyEffect;
  return {
      {"method.beta", llm, learning, "DPO beta",
       "of DPO: how much a reward weighs that the model moves away from the reference"},
      {"method.loss", llm, learning, "DPO loss",
       "of DPO: `sigmoid` (with `label_smoothing` conservative DPO), `robust`, `ipo` or `hinge`"},
      {"method.label_smoothing", llm, learning, "label smoothing",
       "of the losses `sigmoid` and `robust`: share of pairs that are labelled the wrong way round"},
      {"method.length_average",
       llm,
       learning,
       "length average",
       "of DPO: log-probabilities are means over the targets instead of sums",
       {.fallback = "true with `ipo`"}},
      {"method.reference",
       llm,
       speed,
       "DPO reference",
       "of DPO: the model that rewards compare with: `adapters-off`, the same weights; `copy`, a frozen copy of the "
       "start; `cached`, values computed once and stored next to the shards",
       {.fallback = "adapters-off; `copy` for `dpo`", .on_resume = OnResume::same}},
  };
}

}  // namespace multicard
