// multicard plan: who gets which GPUs, and when; or what policies make of a workload.

#include <fmt/format.h>

#include "Commands.hpp"
#include "base/Error.hpp"
#include "base/Log.hpp"
#include "base/RegularFile.hpp"
#include "base/StandardOutput.hpp"
#include "comm/Agreement.hpp"
#include "config/DeckKind.hpp"
#include "io/Bytes.hpp"
#include "scheduling/plan/Plan.hpp"
#include "scheduling/plan/PlanPicture.hpp"
#include "scheduling/replay/Replay.hpp"

namespace multicard {

namespace {

void log_lines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines)
    log_info(line);
}

void print_replay(const ReplayOptions& options, const PlanArguments& arguments) {
  if (!arguments.svg.empty()) throw UsageError("--svg is for plans", "this deck replays a workload", "Leave it out.");
  const std::vector<ReplaySummary> summaries = replay(options);
  log_lines(replay_report(summaries));
  for (const ReplaySummary& summary : summaries)
    print(json_line(summary) + "\n");
}

void print_plans(const Deck& deck, const PlanArguments& arguments) {
  const std::vector<Plan> plans = make_plans(read_plan_options(deck));
  for (const Plan& one : plans) {
    log_lines(plan_report(one));
    if (arguments.json) print(plan_json(one) + "\n");
  }
  if (plans.size() > 1) log_lines(compare_plans(plans));
  if (arguments.svg.empty()) return;
  write_file(arguments.svg, plan_svg(plans));
  log_info(fmt::format("{:<10}{}", "picture", arguments.svg));
}

void plan(const PlanArguments& arguments) {
  // Before the planning, which may take minutes.
  if (is_folder(arguments.svg))
    throw UsageError(fmt::format("--svg {} is a folder", arguments.svg), "the picture is one file", "Name a file.");
  if (!arguments.svg.empty() && is_there(arguments.svg) && !is_plan_svg(arguments.svg))
    throw UsageError(fmt::format("--svg {} was not written by multicard", arguments.svg),
                     "the picture would replace it", "Name another file, or move it away.");
  const Deck deck = load_deck(arguments.deck, DeckKind::plan, arguments.overrides);
  if (const std::optional<ReplayOptions> asked = read_replay_deck(deck))
    print_replay(*asked, arguments);
  else
    print_plans(deck, arguments);
}

}  // namespace

ExitCode plan_command(const PlanArguments& arguments, const Communicator& world) {
  agreed(world, [&] {
    if (world.is_root()) plan(arguments);
  });
  return ExitCode::complete;
}

}  // namespace multicard
