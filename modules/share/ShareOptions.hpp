#pragma once
/// \file Share decks (docs/share.md).

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/Deck.hpp"
#include "config/Smoke.hpp"
#include "config/Words.hpp"
#include "device/ComputeOptions.hpp"
#include "scheduling/solve/NearPlacement.hpp"
#include "scheduling/solve/SplitProblem.hpp"
#include "tasks/options/RunSettings.hpp"

namespace multicard {

/// How ranks are given to tasks.
enum class SharePolicyName {
  adaptive,    ///< as measurements and predictions say
  equal,       ///< equally many for each until it ends; tasks that find none wait
  sequential,  ///< one task after another on all ranks
  fixed        ///< as the deck says
};
inline constexpr Word<SharePolicyName> kSharePolicyWords[] = {{"adaptive", SharePolicyName::adaptive},
                                                              {"equal", SharePolicyName::equal},
                                                              {"sequential", SharePolicyName::sequential},
                                                              {"fixed", SharePolicyName::fixed}};

/// One of `tasks`.
struct ShareTaskOptions {
  std::string name;
  Deck deck;  ///< a run deck with the task's own keys applied
  double weight = 1;
  int min_ranks = 1;
  std::optional<int> max_ranks;
};

/// `policy` of a deck.
struct SharePolicyOptions {
  SharePolicyName name = SharePolicyName::adaptive;
  double interval_s = 10;
  double min_gain = 0.05;             ///< share of the objective below which nothing is changed
  std::map<std::string, int> ranks;   ///< fixed: of each task
  Spread placement = Spread::packed;  ///< over as few nodes as possible, or as many; adaptive: as predictions say
};

/// `arrivals` of a deck.
struct ArrivalOptions {
  std::optional<std::string> folder;
  double wait_s = 0;
};

/// `run` of a deck: what holds for all tasks.
struct ShareRunOptions {
  std::string output = "results/share";
  DeviceRequest device = DeviceRequest::automatic;
  ResumeMode resume = ResumeMode::automatic;  ///< or never
  std::optional<double> wall_limit;
  double timeout_s = 300;
  double checkpoint_every_s = 600;
};

struct ShareOptions {
  Objective objective = Objective::makespan;
  std::vector<ShareTaskOptions> tasks;
  SharePolicyOptions policy;
  ArrivalOptions arrivals;
  ShareRunOptions run;
  std::vector<std::string> unused;  ///< keys of task decks that do not apply here: "vision: run.output"
};

/// Reads a share deck and puts the task decks that it names (relative to its own file) in the place of their names, so
/// that the result can be sent to other ranks as text. In a smoke run the sections `smoke` of the share and of the
/// tasks' decks count, and shorten_share(); overrides have the last word. \throws UsageError as Deck::load
Deck load_share_deck(const std::string& path, const std::vector<std::string>& overrides = {},
                     RunScale scale = RunScale::full);

/// \throws UsageError, for run.batch_per_rank of a task too: its batch would change with its ranks
ShareOptions read_share_options(const Deck& deck);

/// A task that arrives: a file with one entry of `tasks`, read like those. \throws UsageError
Deck load_arrival(const std::string& path);
ShareTaskOptions read_arrival(const Deck& entry, const ShareOptions& options, std::vector<std::string>& unused);

}  // namespace multicard
