// multicard share: several tasks in one job.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>

#include "CommandStatus.hpp"
#include "Commands.hpp"
#include "OwnOutput.hpp"
#include "ResumeDecision.hpp"
#include "Runs.hpp"
#include "base/Error.hpp"
#include "base/Log.hpp"
#include "base/RegularFile.hpp"
#include "base/StandardOutput.hpp"
#include "base/System.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "comm/LongWork.hpp"
#include "comm/Watchdog.hpp"
#include "device/Device.hpp"
#include "io/OwnFiles.hpp"
#include "results/ResultsWriter.hpp"
#include "share/PlacementNotes.hpp"
#include "share/Share.hpp"
#include "share/ShareStatus.hpp"
#include "tasks/setup/DeckBroadcast.hpp"

namespace multicard {

namespace {

namespace fs = std::filesystem;

std::string folder_of(const ShareOptions& options, const std::string& task) {
  return (fs::path(options.run.output) / "tasks" / task).string();
}

std::string results_of(const ShareOptions& options, const std::string& task) {
  return (fs::path(folder_of(options, task)) / "results.h5").string();
}

/// The task's own options, with what the share decides for all. A task that waits has its checkpoint.
RunOptions options_of(const ShareOptions& options, const ShareTaskOptions& task) {
  RunOptions run = read_run_options(task.deck);
  if (run.parallel.shard == Shard::hybrid)
    throw UsageError(fmt::format("task {} cannot be shared", task.name),
                     "its parallel.shard is hybrid, and not all numbers of ranks form its groups",
                     "Set parallel.shard=auto, full, optimizer or none.");
  if (run.parallel.shard_group)
    throw UsageError(fmt::format("task {} cannot be shared", task.name),
                     "its parallel.shard_group is a number of ranks, and tasks change theirs",
                     "Leave parallel.shard_group out.");
  run.run.output = folder_of(options, task.name);
  run.run.resume = {options.run.resume};
  run.run.timeout_s = options.run.timeout_s;
  run.run.device = options.run.device;
  // At least one: a task that has to wait for ranks lives in its checkpoint.
  // Tasks of one deck would replace each other's file.
  if (std::optional<std::string>& file = run.run.prometheus)
    file->insert(file->size() - std::string(".prom").size(), "." + task.name);
  run.run.keep_checkpoints = std::max<decltype(run.run.keep_checkpoints)>(1, run.run.keep_checkpoints);
  return run;
}

/// Of the folders of the tasks, by name: on rank 0, unless nothing is to be written.
using TaskLocks = std::map<std::string, std::unique_ptr<FolderLock>>;

/// \param locks gets the task's; none where nothing is to be written
std::unique_ptr<SharedTask> make_task(const ShareOptions& options, const ShareTaskOptions& shared,
                                      const Communicator& world, TaskLocks* locks) {
  // On all ranks of the job, before the task has any of its own: it must not wait for ranks only to be refused.
  const RunOptions run = agreed(world, [&] { return options_of(options, shared); });
  agreed(world, [&] {
    if (!world.is_root()) return;
    // A dry run writes nothing, and must not be kept out by a job that does.
    if (locks) (*locks)[shared.name] = std::make_unique<FolderLock>(run.run.output);
    require_own_output(run);
    require_own_results(results_of(options, shared.name));
  });
  const Deck resolved = with_defaults(shared.deck);
  const ResumeDecision decision = decide_resume(world, run, resolved, results_of(options, shared.name));
  auto task = std::make_unique<SharedTask>(shared, run, resolved.to_yaml(), world,
                                           TaskHistory{decision.checkpoint, decision.finished});
  log_info(
      fmt::format("{:<10}{}{}", "task", shared.name, decision.finished ? " has finished before" : decision.text()));
  if (!decision.warning.empty()) log_warning(fmt::format("task {}: {}", shared.name, decision.warning));
  return task;
}

/// Tasks compute at the same time: the ranks of a node, whatever tasks they have, share its processors.
void share_processors(const Topology& topology) {
  // Through the environment, which compute_threads() reads: on the ranks of one task alone it would count too few.
  const int sharing = ranks_with_my_processors(topology.node);
  const std::string threads = std::to_string(std::max(1, available_cpus() / sharing));
  setenv("OMP_NUM_THREADS", threads.c_str(), 0);
}

std::set<std::string> names_of(const TaskLocks& locks) {
  std::set<std::string> names;
  for (const auto& [name, lock] : locks)
    names.insert(name);
  return names;
}

/// Collective. Makes way for the tasks.
void begin(const ShareOptions& options, const TaskLocks& locks, const Communicator& world) {
  // Rank 0 may remove many checkpoints, for longer than a time-out.
  agreed_after_long_work(world, [&] {
    if (!world.is_root()) return;
    if (options.run.resume == ResumeMode::never) clear_share(options.run.output, names_of(locks));
    mark_folder((fs::path(options.run.output) / "tasks").string());
  });
}

/// For rank 0, before anything is removed or written.
void require_own(const ShareOptions& options) {
  const std::string& output = options.run.output;
  require_own_results((fs::path(output) / "results.h5").string());
  require_own_share(output);
  if (options.run.resume != ResumeMode::never) require_results_of_share(output);
}

/// Collective.
ShareRecord earlier_record(const ShareOptions& options, const Communicator& world) {
  return agreed(world, [&] {
    if (!world.is_root() || options.run.resume == ResumeMode::never) return ShareRecord{};
    return is_there(record_file(options.run.output)) ? read_share_record(record_file(options.run.output))
                                                     : ShareRecord{};
  });
}

/// Of a task without a results file of its own.
RunSummary summary_of(const std::string& task, TaskState state, const std::string& error) {
  RunSummary summary;
  summary.name = task;
  summary.status = state == TaskState::failed ? "failed" : "stopped";
  summary.error = error;
  return summary;
}

/// For rank 0: OUTPUT/results.h5 with the runs of all tasks.
void assemble(const ShareScheduler& tasks, const ShareOptions& options, const Provenance& provenance) {
  std::vector<RenamedResults> stored;
  // Every task has a run in the results, also one that never began: a gap would look as if it had not been there.
  std::vector<RunSummary> unstored;
  for (const auto& [name, error] : tasks.failed_arrivals())
    unstored.push_back(summary_of(name, TaskState::failed, error));
  for (std::size_t i = 0; i < tasks.num_tasks(); ++i) {
    const std::string& name = tasks.task(i).name();
    const TaskEnd& end = tasks.task(i).outcome();
    const std::string file = results_of(options, name);
    // A task that was stopped before it ran in this launch has the results of the last one.
    const bool is_of_before = end.state == TaskState::stopped && is_there(file);
    if (end.is_stored || is_of_before)
      stored.push_back({file, name});
    else
      unstored.push_back(summary_of(name, end.state, end.error));
  }
  const std::string policy(word_of(options.policy.name, kSharePolicyWords));
  const std::string objective(word_of(options.objective, kObjectiveWords));
  assemble_results((fs::path(options.run.output) / "results.h5").string(), stored, provenance, unstored,
                   allocation_group(tasks.record(), tasks.baselines(), policy, objective));
}

/// For rank 0: what the policy has gained.
void log_baselines(const ShareScheduler& tasks) {
  const std::vector<AllocationBaseline> baselines = tasks.baselines();
  if (baselines.empty()) return;
  double end_s = 0;
  for (const AllocationInterval& interval : tasks.record().intervals)
    end_s = std::max(end_s, interval.end_s);
  log_info(fmt::format("{:<10}the tasks took {:.4g} s; training steps alone are predicted to take", "compared", end_s));
  for (const AllocationBaseline& baseline : baselines) {
    std::string seconds = "unknown";
    if (baseline.predicted_s > 0)
      seconds = fmt::format("{:.4g} s ({:.4g}-{:.4g} s)", baseline.predicted_s, baseline.low_s, baseline.high_s);
    log_info(fmt::format("{:<10}{}: {}{}{}", "", baseline.policy == "equal" ? "equal split" : "one after another",
                         seconds, baseline.reason.empty() ? "" : ", ", baseline.reason));
  }
}

/// Collective. Tasks choose their devices on parts of the ranks; that each rank has one for itself is found here.
at::Device check_devices(const ShareOptions& options, const Communicator& world, const Topology& topology) {
  const bool may_meet = agreed(world, [&] {
    return std::any_of(options.tasks.begin(), options.tasks.end(), [&](const ShareTaskOptions& task) {
      return options_of(options, task).parallel.share_gpu == ShareGpu::yes;
    });
  });
  return choose_device(options.run.device, may_meet ? ShareGpu::yes : ShareGpu::no, world, topology).device;
}

void log_decision(const ShareDecision& first, bool several_nodes) {
  log_info(fmt::format("{:<10}{}", "first", first.decision.reason));
  for (std::size_t k = 0; k < first.decision.placements.size(); ++k) {
    const Placement& placement = first.decision.placements[k];
    const std::string on_nodes =
        several_nodes && !placement.empty() ? " on " + nodes_text(node_counts(placement)) : std::string();
    log_info(fmt::format("{:<10}{}: {}{}", "", first.active[k].name, counted(gpus_of(placement), "rank"), on_nodes));
  }
  log_info("dry run: the decks, the data, the predicted memory and the number of ranks fit together");
}

void log_stop(const StopMonitor& stop) {
  log_info(fmt::format("{:<10}by {}; the same command resumes the tasks", "stopped", stop.reason()));
}

void log_unused(const ShareOptions& options) {
  if (options.unused.empty()) return;
  log_info(fmt::format("{:<10}{} (the share's own run section decides)", "not used", join(options.unused, ", ")));
}

/// Collective. Runs the tasks and puts together what they leave.
ExitCode run_tasks(Share& share, const ShareOptions& options, const Provenance& provenance, const Communicator& world,
                   const StopMonitor& stop, const CommandStatus& status) {
  const ExitCode code = share.run();
  agreed_after_long_work(world, [&] {
    if (world.is_root()) assemble(share.scheduler(), options, provenance);
  });
  const double seconds = share.scheduler().record().elapsed_s;
  status.change(
      [last = watched_share(share.scheduler(), options, seconds, kNone)](WatchStatus& whole) { whole.share = last; });
  if (world.is_root()) log_baselines(share.scheduler());
  if (code == ExitCode::stopped) log_stop(stop);
  return code;
}

}  // namespace

// The locks of the tasks and of the share are held until the results of all are put together, so that no run can begin
// in one of their folders. Hooks are called by the share on the ranks of a task, with a communicator of their own.
ExitCode share_command(const DeckArguments& arguments, const Communicator& world) {
  StopMonitor stop;
  if (!arguments.only_shows()) stop.listen();
  const RunScale scale = arguments.smoke ? RunScale::smoke : RunScale::full;
  const Deck deck =
      share_deck(world, arguments.deck, [&] { return load_share_deck(arguments.deck, arguments.overrides, scale); });
  const ShareOptions options = agreed(world, [&] { return read_share_options(deck); });
  if (arguments.print_config) {
    if (world.is_root()) print(deck.to_yaml());
    return ExitCode::complete;
  }
  if (arguments.quiet) set_log_level(LogLevel::warning);
  log_heading(arguments.smoke ? "smoke share" : "share", arguments.deck);
  log_unused(options);
  stop.set_wall_limit(options.run.wall_limit);
  if (Watchdog* watchdog = world.watchdog()) watchdog->set_limit(options.run.timeout_s);
  const Topology topology = find_topology(world);
  share_processors(topology);
  std::unique_ptr<FolderLock> lock;
  if (!arguments.dry_run) lock = hold_output(world, options.run.output, [&] { require_own(options); });
  const Provenance provenance = full_provenance(world, arguments.command_line);
  const at::Device device = check_devices(options, world, topology);
  const ShareMachine machine = measure_machine(world, topology, device);
  TaskLocks locks;
  TaskLocks* const wanted = arguments.dry_run ? nullptr : &locks;
  CommandStatus status;
  ShareStatus shown(options);
  const ShareHooks hooks{
      [&](const ShareTaskOptions& task) { return make_task(options, task, world, wanted); },
      [&](const SharedTask& task, const RunResult& result, const Communicator& ranks) {
        RunSummary summary = result.summary;
        if (arguments.smoke) mark_smoke(summary);
        write_results(results_of(options, task.name()), ranks, provenance, summary, result.rows);
      },
      [&](const ShareScheduler& tasks, double now, double left_s) { shown.show(status.writer(), tasks, now, left_s); }};
  const ShareRecord before = arguments.dry_run ? ShareRecord{} : earlier_record(options, world);
  Share share(world, machine, options, hooks, stop, before);
  share.add_tasks();
  if (arguments.dry_run) {
    log_decision(share.rehearse(), topology.num_nodes > 1);
    return ExitCode::complete;
  }
  begin(options, locks, world);  // not before all decks have been found to be usable
  status.open(world, "share", {options.run.output, ""});
  const ExitCode code = status.end_of([&] { return run_tasks(share, options, provenance, world, stop, status); });
  const std::string results = (fs::path(options.run.output) / "results.h5").string();
  log_results(results);
  print_if_quiet(results, arguments, world);
  return code;
}

}  // namespace multicard
