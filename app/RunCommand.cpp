#include <cstdio>
#include <filesystem>

#include <fmt/format.h>

#include "ClosingTable.hpp"
#include "CommandStatus.hpp"
#include "Commands.hpp"
#include "FitTable.hpp"
#include "OwnOutput.hpp"
#include "ResumeDecision.hpp"
#include "Runs.hpp"
#include "base/Clock.hpp"
#include "base/Log.hpp"
#include "base/StandardOutput.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "comm/Topology.hpp"
#include "config/Smoke.hpp"
#include "device/DeviceError.hpp"
#include "memory/MemoryEstimate.hpp"
#include "results/ResultsWriter.hpp"
#include "state/CheckpointStore.hpp"
#include "tasks/setup/DeckBroadcast.hpp"

namespace multicard {

namespace {

/// For rank 0. A results file of another program next to checkpoints of this one is reported as damaged, with what
/// resumes.
void require_own(const RunOptions& options, const std::string& results) {
  require_own_output(options);
  const bool resumes = options.run.resume.mode != ResumeMode::never &&
                       CheckpointStore(options.run.output, options.run.keep_checkpoints).newest();
  if (!resumes) require_own_results(results);
}

/// Collective.
void close_with(const RunResult& result, const Communicator& world, const RunOptions& options,
                const StopMonitor& stop) {
  const bool is_stopped = result.summary.status == "stopped";
  const char* status = result.failure ? "failed" : is_stopped ? "stopped" : "done";
  log_info(fmt::format("{:<10}{} steps in {}{}", status, result.record.steps.size(),
                       human_duration(seconds_since_launch()),
                       is_stopped ? fmt::format(" by {}; the same command resumes the run", stop.reason()) : ""));
  log_closing_table(result, world, options.run.output);
}

/// Collective.
// The order: lock the folder and refuse what is not ours in it; decide where to begin; build the run, which finds most
// mistakes of decks and data; and only then remove results of before. The lock is held until the new ones are written.
ExitCode train(const RunOptions& options, const Deck& resolved, const DeckArguments& arguments,
               const Communicator& world, StopMonitor& stop, CommandStatus& status) {
  const std::string results = (std::filesystem::path(options.run.output) / "results.h5").string();
  log_heading(arguments.smoke ? "smoke run" : "run", arguments.deck);
  std::unique_ptr<FolderLock> lock;  // held until the results are written
  const auto check = [&] { require_own(options, results); };
  if (arguments.dry_run)
    agreed(world, [&] {
      if (world.is_root()) check();
    });
  else
    lock = hold_output(world, options.run.output, check);
  ResumeDecision decision;
  if (!arguments.dry_run) decision = decide_resume(world, options, resolved, results);
  if (decision.finished) {
    log_finished(results, "run");
    print_if_quiet(results, arguments, world);
    return ExitCode::complete;
  }
  if (!arguments.dry_run) status.open(world, "run", {options.run.output, options.run.prometheus.value_or("")});
  TaskRunOptions task_options{arguments.quiet ? Verbosity::quiet : Verbosity::normal, decision.checkpoint, true};
  task_options.status = [&] { return status.writer(); };
  TaskRun training(options, resolved.to_yaml(), world, task_options);
  training.describe();
  if (arguments.dry_run) {
    training.describe_memory();
    log_info("dry run: the deck, the data and the world size fit together");
    return ExitCode::complete;
  }
  agreed(world, [&] {  // not before this run is known to start
    if (world.is_root() && options.run.resume.mode == ResumeMode::never) clear_output(options.run.output);
  });
  log_info(fmt::format("{:<10}{}{}", "output", options.run.output, decision.text()));
  if (!decision.warning.empty()) log_warning(decision.warning);
  RunResult result = training.run(&stop);
  if (arguments.smoke) mark_smoke(result.summary);
  write_results(results, world, full_provenance(world, arguments.command_line), result.summary, result.rows);
  close_with(result, world, options, stop);
  if (!arguments.quiet && world.is_root()) log_findings(results);
  log_results(results);
  print_if_quiet(results, arguments, world);
  // After the results: what a diverged run has measured until then is worth keeping.
  if (result.failure) throw Error(*result.failure);
  const ExitCode code = result.summary.status == "stopped" ? ExitCode::stopped : ExitCode::complete;
  status.end_with(code);
  return code;
}

}  // namespace

ExitCode run_command(const DeckArguments& arguments, const Communicator& world) {
  StopMonitor stop;
  if (!arguments.only_shows()) stop.listen();  // a request while the run is being built counts
  const Deck deck = share_deck(world, arguments.deck, [&] {
    return arguments.smoke ? load_smoke_run_deck(arguments.deck, arguments.overrides, world.size())
                           : load_run_deck(arguments.deck, arguments.overrides);
  });
  const RunOptions options = agreed(world, [&] { return read_run_options(deck); });
  stop.set_wall_limit(options.run.wall_limit);
  const Deck resolved = with_defaults(deck);
  if (arguments.print_config) {
    if (world.is_root()) print(resolved.to_yaml());
    return ExitCode::complete;
  }
  if (arguments.what_fits) {
    log_what_fits(options, arguments.memory, world);
    return ExitCode::complete;
  }
  if (arguments.quiet) set_log_level(LogLevel::warning);
  // Counted here, since after an error of one rank alone nothing collective is possible.
  const Topology topology = find_topology(world);
  const RankNumbers ranks{splitting_ranks(options, topology, world.size()), topology.local_size};
  CommandStatus status;
  try {
    return train(options, resolved, arguments, world, stop, status);
  } catch (const std::exception& error) {  // what the run held is free again
    const Error found = any_error(error);
    status.fail(found);
    if (is_out_of_memory(found)) log_what_would_fit(options, ranks, found.scope());
    throw;
  }
}

}  // namespace multicard
