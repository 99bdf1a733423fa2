// multicard plan: who gets which GPUs, and when.

#include <iostream>

#include "Commands.hpp"
#include "base/Log.hpp"
#include "comm/Agreement.hpp"
#include "config/Deck.hpp"
#include "planning/Plan.hpp"

namespace multicard {

namespace {

void log_lines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines)
    log_info(line);
}

void plan(const PlanArguments& arguments) {
  const std::vector<Plan> plans = make_plans(read_plan_options(Deck::load(arguments.deck, arguments.overrides)));
  for (const Plan& one : plans) {
    log_lines(plan_report(one));
    if (arguments.json) std::cout << plan_json(one) << std::endl;
  }
  if (plans.size() > 1) log_lines(compare_plans(plans));
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
