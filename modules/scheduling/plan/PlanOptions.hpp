#pragma once
/// \file Plan decks (docs/allocation.md).

#include <optional>
#include <string>
#include <vector>

#include "config/Deck.hpp"
#include "scheduling/rates/RateTableFile.hpp"
#include "scheduling/replay/ReplayOptions.hpp"
#include "scheduling/solve/Allocation.hpp"

namespace multicard {

/// One of `tasks`.
struct PlanTaskOptions {
  std::string name;
  std::string table;    ///< path of a file of rates; empty: the rates stand in `results`
  std::string results;  ///< path of a sweep's results file
  TableLayout layout = TableLayout::multicard;
  std::optional<int> batch;  ///< of the layout elasticflow: the row
  double work = 0;           ///< 0: not known
  double weight = 1;
};

struct PlanOptions {
  std::vector<Machine> machines;  ///< one for each element of machine.gpus
  Objective objective = Objective::makespan;
  std::vector<PlanTaskOptions> tasks;
  ScheduleKind kind = ScheduleKind::any;  ///< static_only
};

/// Paths are relative to the working directory; those that do not exist there, to the deck's folder if they exist
/// there. \throws UsageError
PlanOptions read_plan_options(const Deck& deck);

/// The replay that a deck with a section `replay` asks for; nothing for another deck. Paths as above. \throws
/// UsageError
std::optional<ReplayOptions> read_replay_deck(const Deck& deck);

}  // namespace multicard
