#pragma once
/// \file Plan decks (docs/allocation.md).

#include <optional>
#include <string>
#include <vector>

#include "config/Deck.hpp"
#include "config/Words.hpp"
#include "replay/ReplayOptions.hpp"
#include "scaling/Allocation.hpp"

namespace multicard {

inline constexpr Word<Objective> kObjectiveWords[] = {{"makespan", Objective::makespan},
                                                      {"weighted-throughput", Objective::weighted_throughput},
                                                      {"fairness", Objective::fairness},
                                                      {"average-completion", Objective::average_completion}};

/// What a file of rates is like (RateTableFile.hpp).
enum class TableLayout { multicard, rubick, elasticflow, pollux };
inline constexpr Word<TableLayout> kTableLayoutWords[] = {{"multicard", TableLayout::multicard},
                                                          {"rubick", TableLayout::rubick},
                                                          {"elasticflow", TableLayout::elasticflow},
                                                          {"pollux", TableLayout::pollux}};

/// Weights are added, multiplied with rates and divided by each other.
inline constexpr double kLeastWeight = 1e-9, kMostWeight = 1e9;

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
