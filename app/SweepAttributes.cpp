#include "SweepAttributes.hpp"

#include <utility>

#include "Runs.hpp"

namespace multicard {

void add_sweep_attributes(const Variant& variant, const SweepIdentity& sweep, ExitCode code, RunSummary& summary) {
  summary.name = variant.name;
  summary.integers["ranks"] = variant.ranks;
  summary.integers["repeat"] = variant.repeat;
  if (!variant.case_name.empty()) summary.text["case"] = variant.case_name;
  for (const auto& [key, value] : variant.overrides)
    summary.text[key] = value;
  if (sweep.scale == SweepScale::quick) summary.integers["quick"] = 1;
  if (sweep.scale == SweepScale::smoke) mark_smoke(summary);
  summary.tables["sweep"].text["deck"] = {sweep.deck};
  summary.tables["sweep"].integers["exit_code"] = {static_cast<int>(code)};
}

void add_deck_attributes(const Deck& deck, RunSummary& summary) {
  summary.text["deck"] = deck.to_yaml();
  for (const auto& [attribute, path] :
       {std::pair{"task", "task"}, std::pair{"model", "model.name"}, std::pair{"strategy", "parallel.strategy"},
        std::pair{"backend", "parallel.backend"}, std::pair{"precision", "precision"},
        std::pair{"layout", "data.layout"}, std::pair{"pipeline", "data.pipeline"}})
    // What "auto" would have become was never decided.
    if (const std::string value = deck.get_text(path); !value.empty() && value != "auto")
      summary.text[attribute] = value;
}

}  // namespace multicard
