#include <cstdio>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>

#include "ClosingTable.hpp"
#include "Commands.hpp"
#include "Runs.hpp"
#include "base/Clock.hpp"
#include "base/Log.hpp"
#include "base/System.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "io/FolderLock.hpp"
#include "results/ResultsReader.hpp"
#include "results/ResultsWriter.hpp"
#include "tasks/SameRun.hpp"
#include "train/CheckpointStore.hpp"

namespace multicard {

namespace {

/// Where a run begins.
struct Start {
  bool finished = false;                  ///< nothing is left to do
  std::optional<std::string> checkpoint;  ///< go on from here
};

/// The status of a finished or stopped run in `results`; empty when there is no file. UsageError when the file is a
/// sweep's or another command's: it would be lost.
std::string status_of(const std::string& results) {
  if (!std::filesystem::exists(results)) return {};
  const ResultsFile file = ResultsFile::open(results);
  if (file.run_names() != std::vector<std::string>{"main"})
    throw UsageError(fmt::format("{} holds the results of another command", results), "this run would replace them",
                     "Set another run.output, or run.resume=never to replace them.");
  return file.run("main").summary.status;
}

bool same_length(const Deck& before, const Deck& now) {
  return before.get_text("run.steps") == now.get_text("run.steps") &&
         before.get_text("run.epochs") == now.get_text("run.epochs");
}

/// What run.resume means for this output folder. For one process.
Start decide_start(const RunOptions& options, const Deck& deck, const std::string& results) {
  if (options.run.resume == "never") return {};
  const CheckpointStore store(options.run.output, options.run.keep_checkpoints);
  const bool complete = status_of(results) == "complete";
  const bool automatic = options.run.resume == "auto";
  const std::optional<std::string> checkpoint = automatic ? store.newest() : options.run.resume;
  if (!checkpoint && !complete) return {};
  const std::string before_text = checkpoint ? CheckpointStore::read_state(*checkpoint).deck
                                             : ResultsFile::open(results).run("main").summary.text.at("deck");
  const Deck before = Deck::parse(before_text, checkpoint.value_or(results));
  check_same_run(before, deck);
  if (complete && automatic) {
    const RunData finished = ResultsFile::open(results).run("main");
    if (same_length(Deck::parse(finished.summary.text.at("deck"), results), deck)) return {true, std::nullopt};
  }
  return {false, checkpoint};
}

/// run.resume=never: what an earlier run has left goes, now that this one is known to start.
void start_anew(const RunOptions& options, const std::string& results) {
  CheckpointStore(options.run.output, options.run.keep_checkpoints).clear();
  std::filesystem::remove_all(std::filesystem::path(options.run.output) / "records");
  std::filesystem::remove(results);
}

/// Collective.
Start share_start(const Communicator& world, const RunOptions& options, const Deck& deck, const std::string& results) {
  Start start = agreed(world, [&] { return world.is_root() ? decide_start(options, deck, results) : Start{}; });
  start.finished = world.broadcast_value(start.finished ? 1 : 0) == 1;
  const std::string checkpoint = world.broadcast(start.checkpoint.value_or(""));
  start.checkpoint = checkpoint.empty() ? std::nullopt : std::optional(checkpoint);
  return start;
}

/// Collective.
void close_with(const SessionResult& result, const Communicator& world, const RunOptions& options) {
  const char* status = result.failure ? "failed" : result.summary.status == "stopped" ? "stopped" : "done";
  log_info(
      fmt::format("{:<10}{} steps in {}", status, result.record.steps.size(), human_duration(seconds_since_launch())));
  log_closing_table(result, world, options.run.output);
}

}  // namespace

ExitCode run_command(const DeckArguments& arguments, const Communicator& world) {
  StopMonitor stop;  // before anything that takes time: a request while the run is being built counts
  const Deck deck = share_deck(world, arguments.deck, [&] { return Deck::load(arguments.deck, arguments.overrides); });
  const RunOptions options = agreed(world, [&] { return read_run_options(deck); });
  stop.set_wall_limit(options.run.wall_limit);
  const Deck resolved = with_defaults(deck);
  const std::string deck_yaml = resolved.to_yaml();
  if (arguments.print_config) {
    if (world.is_root()) std::cout << deck_yaml;
    return ExitCode::complete;
  }
  if (arguments.quiet) set_log_level(LogLevel::warning);
  const std::string results = (std::filesystem::path(options.run.output) / "results.h5").string();
  log_heading("run", arguments.deck);
  std::optional<FolderLock> lock;  // held until the results are written
  if (!arguments.dry_run)
    agreed(world, [&] {
      if (world.is_root()) lock.emplace(options.run.output);
    });
  Start start;
  if (!arguments.dry_run) start = share_start(world, options, resolved, results);
  if (start.finished) {
    log_finished(results, "run");
    print_if_quiet(results, arguments, world);
    return ExitCode::complete;
  }
  Session session(options, deck_yaml, world, {arguments.quiet ? Voice::quiet : Voice::speak, start.checkpoint, true});
  session.describe();
  if (arguments.dry_run) {
    log_info("dry run: the deck, the data and the world size fit together");
    return ExitCode::complete;
  }
  agreed(world, [&] {
    if (world.is_root() && options.run.resume == "never") start_anew(options, results);
  });
  log_info(fmt::format("{:<10}{}{}", "output", options.run.output,
                       start.checkpoint ? fmt::format(" (going on from {})", *start.checkpoint) : ""));
  const SessionResult result = session.run(&stop);
  write_results(results, world, full_provenance(world, arguments.command_line), result.summary, result.rows);
  close_with(result, world, options);
  log_info(fmt::format("{:<10}{}        report: multicard-post {}", "results", results, results));
  print_if_quiet(results, arguments, world);
  if (result.failure) throw Error(*result.failure);
  return result.summary.status == "stopped" ? ExitCode::stopped : ExitCode::complete;
}

}  // namespace multicard
