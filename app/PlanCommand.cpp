// multicard plan: who gets which GPUs, and when; or what policies make of a workload.

#include <iostream>

#include "Commands.hpp"
#include "base/Log.hpp"
#include "comm/Agreement.hpp"
#include "config/Deck.hpp"
#include "planning/Plan.hpp"
#include "replay/Replay.hpp"

namespace multicard {

namespace {

void log_lines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines)
    log_info(line);
}

void print_replay(const ReplayOptions& options) {
  for (const ReplaySummary& summary : replay(options))
    std::cout << json_line(summary) << std::endl;
}

void print_plans(const Deck& deck, const PlanArguments& arguments) {
  const std::vector<Plan> plans = make_plans(read_plan_options(deck));
  for (const Plan& one : plans) {
    log_lines(plan_report(one));
    if (arguments.json) std::cout << plan_json(one) << std::endl;
  }
  if (plans.size() > 1) log_lines(compare_plans(plans));
}

void plan(const PlanArguments& arguments) {
  const Deck deck = Deck::load(arguments.deck, arguments.overrides);
  if (const std::optional<ReplayOptions> asked = read_replay_deck(deck))
    print_replay(*asked);
  else
    print_plans(deck, arguments);
  if (!std::cout) throw DataError("the standard output cannot be written");
}

}  // namespace

ExitCode plan_command(const PlanArguments& arguments, const Communicator& world) {
  agreed(world, [&] {
    if (world.is_root()) plan(arguments);
  });
  return ExitCode::complete;
}

}  // namespace multicard
