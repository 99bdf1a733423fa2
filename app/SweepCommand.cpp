#include <optional>

#include <fmt/format.h>

#include "CommandStatus.hpp"
#include "Commands.hpp"
#include "ResumeDecision.hpp"
#include "Runs.hpp"
#include "SweepAttributes.hpp"
#include "SweepFolder.hpp"
#include "SweepReport.hpp"
#include "SweepStatus.hpp"
#include "base/Clock.hpp"
#include "base/LiveLine.hpp"
#include "base/Log.hpp"
#include "base/StandardOutput.hpp"
#include "base/Terminal.hpp"
#include "base/Utf8.hpp"
#include "comm/Agreement.hpp"
#include "comm/Mpi.hpp"
#include "comm/Watchdog.hpp"
#include "config/SweepOptions.hpp"
#include "device/DeviceError.hpp"
#include "results/ResultsWriter.hpp"
#include "tasks/options/Variant.hpp"
#include "tasks/setup/DeckBroadcast.hpp"

namespace multicard {

namespace {

/// How a variant ended.
struct Outcome {
  std::vector<std::string> words;  ///< as in ClosedRun
  bool stopped = false;
};

/// Runs one variant on `group`, its own ranks, and stores what it left. A failure that the group finds together is an
/// outcome; one in storing the results is not.
Outcome run_variant(const Variant& variant, const RunLabel& label, const SweepIdentity& sweep,
                    const Communicator& group, const SweepFolder& folder, const Provenance& provenance,
                    StopMonitor& stop, const CommandStatus& status) {
  RunResult result;
  try {
    RunOptions options = read_run_options(variant.deck);
    options.run.output = folder.variant_output(variant);
    TaskRunOptions task_options{sweep.verbosity, std::nullopt, false, MemoryGaps::warn, label};
    task_options.status = [&] { return status.writer(); };
    TaskRun training(options, with_defaults(variant.deck).to_yaml(), group, task_options);
    result = training.run(&stop);
  } catch (const Error& error) {
    // Found by all ranks of the group: they are all here, and the sweep continues with the next variant.
    if (error.scope() != Scope::all_ranks) throw;
    if (group.is_root()) folder.record_failure(variant, {error.code(), error.what()});
    return {{fmt::format("failed: {}", error.what())}};
  }
  // Nothing is stored: a variant that was stopped has no comparable numbers, and runs again in the next launch.
  if (result.summary.status == "stopped") return {{"stopped"}, true};
  add_sweep_attributes(variant, sweep, result.failure ? result.failure->code() : ExitCode::complete, result.summary);
  write_results(folder.partial_file(variant), group, provenance, result.summary, result.rows);
  if (result.failure) return {{fmt::format("failed: {}", result.failure->what())}};
  return {rate_texts(result, group)};
}

/// Collective. What the sweep ends with (see SweepEnd); speaking, it says so in the closing lines.
ExitCode end_code(const Communicator& world, const std::string& results, Verbosity verbosity) {
  const int code = agreed(world, [&] {
    if (!world.is_root()) return 0;
    // From the file, as a launch of a sweep that has finished before finds it: both end with the same code.
    const SweepEnd end = read_sweep_end(results);
    if (verbosity == Verbosity::normal) log_sweep_end(end, results);
    return static_cast<int>(end.code);
  });
  return static_cast<ExitCode>(world.broadcast_value(code));
}

/// A sweep under way on all ranks of the world.
class Sweep {
 public:
  Sweep(const Communicator& world, std::vector<Variant> variants, SweepIdentity identity, SweepFolder folder,
        Provenance provenance, StopMonitor& stop, CommandStatus& status)
      : world_(world),
        variants_(std::move(variants)),
        labels_(aligned_labels(variants_)),
        identity_(std::move(identity)),
        folder_(std::move(folder)),
        provenance_(std::move(provenance)),
        stop_(stop),
        status_(status) {}

  ExitCode run() {
    for (const Variant* variant : in_order_of_time(variants_))
      if (!run_one_variant(*variant)) return ExitCode::stopped;
    assemble();
    return end_code(world_, folder_.results_file(), Verbosity::normal);
  }

 private:
  /// Collective. False when the sweep is to stop.
  bool run_one_variant(const Variant& variant) {
    const RunLabel& label = label_of(variant);
    const int state = agreed(world_, [&] { return world_.is_root() ? folder_.prepare(variant) : 0; });
    const bool is_open = world_.broadcast_value(state) == SweepFolder::kOpen;
    if (!is_open) {
      log_info(label.whole + "  " + world_.broadcast(world_.is_root() ? folder_.describe(variant) : std::string()));
      return true;
    }
    const TimePoint start = SteadyClock::now();
    // Rank 0 is in every group, so its outcome is that of the variant; the ranks that are left over sleep meanwhile.
    const Communicator group = world_.split(world_.rank() < variant.ranks ? 0 : 1, world_.rank());
    Outcome outcome{{""}};
    show_start(label);
    report(&variant);
    if (world_.rank() < variant.ranks) {
      outcome = run_bounded(variant, group);
      if (world_.is_root()) folder_.leave(variant);
    }
    world_.idle_barrier();
    const double seconds = seconds_since(start);
    pace_.add(variant, seconds);
    report(nullptr);
    line_.erase();
    log_info(closing_line(label, closed_run(variant, outcome, seconds), error_columns()));
    return world_.broadcast_value(outcome.stopped ? 1 : 0) == 0;
  }

  const RunLabel& label_of(const Variant& variant) const {
    return labels_[static_cast<std::size_t>(&variant - variants_.data())];
  }

  /// A live line until the first step: a large model takes minutes to load.
  void show_start(const RunLabel& label) {
    if (!world_.is_root() || identity_.verbosity == Verbosity::quiet || !line_.is_wanted() || !line_.is_live()) return;
    const std::string text = label.whole + "  starting";
    line_.show(num_characters(text) <= line_.room() ? text : label.brief + "  starting");
  }

  /// In the status. \param running the variant that begins; null: it has ended
  void report(const Variant* running) const {
    if (!status_.writer()) return;
    // Only rank 0 comes here: what goes wrong must not end the job.
    const auto error = error_of([&] {
      const RunLabel none, &label = running ? label_of(*running) : none;
      status_.change([sweep = watched_sweep(variants_, folder_, pace_, running, label)](WatchStatus& status) {
        status.sweep = sweep;
        status.state = name_of(WatchState::training);
        if (!sweep.variant.empty()) status.run.reset();
      });
    });
    if (error) log_warning(fmt::format("status.json is not up to date ({})", error->what()));
  }

  /// With what is left, for rank 0, which sees the folder.
  ClosedRun closed_run(const Variant& last, const Outcome& outcome, double seconds) const {
    ClosedRun run{outcome.words, seconds};
    for (const Variant& variant : variants_)
      if (world_.is_root() && variant.execution > last.execution && folder_.is_open(variant)) {
        run.seconds_left += pace_.expected(variant);
        ++run.num_left;
      }
    return run;
  }

  /// Ends the job when the variant takes longer than limits.timeout_s: no collective may be open that would notice, as
  /// on one rank. The folder then says why, and the next launch resumes with the others.
  Outcome run_bounded(const Variant& variant, const Communicator& group) {
    std::optional<Watchdog> watchdog;
    if (identity_.timeout_s && world_.is_root())
      watchdog.emplace(*identity_.timeout_s, [&](const std::string&) {
        const CommunicationError error(
            fmt::format("run {} did not end within {} s", variant.name, *identity_.timeout_s), "limits.timeout_s",
            "Start the sweep again: it resumes with the other runs.");
        log_local_error(error.what());
        if (const auto unwritten = error_of([&] { folder_.record_failure(variant, {error.code(), error.what()}); }))
          log_local_error(unwritten->what());
        abort_job(error.code());
      });
    const Watchdog::Guard guard(watchdog ? &*watchdog : nullptr, "a run of the sweep");
    return run_guarded(variant, group);
  }

  /// An error of this rank alone ends the job; the folder then says why, for the next launch. So does an error of the
  /// whole group when other ranks of the world are waiting.
  Outcome run_guarded(const Variant& variant, const Communicator& group) {
    try {
      return run_variant(variant, label_of(variant), identity_, group, folder_, provenance_, stop_, status_);
    } catch (const Error& error) {
      if (error.scope() == Scope::one_rank)
        folder_.record_failure(variant, {error.code(), fmt::format("rank {}: {}", world_.rank(), error.what())});
      if (error.scope() == Scope::all_ranks && group.is_root()) folder_.leave(variant);  // it may be tried again
      if (error.scope() == Scope::all_ranks && group.size() == world_.size()) throw;
      throw Error(error.code(), error.problem(), error.why(), error.suggestion());
    } catch (const std::exception& error) {
      const Error found = any_error(error);
      folder_.record_failure(variant, {found.code(), fmt::format("rank {}: {}", world_.rank(), found.what())});
      throw;
    }
  }

  void assemble() {
    agreed(world_, [&] {
      if (!world_.is_root()) return;
      std::vector<std::string> files;
      std::vector<RunSummary> failed;
      for (const Variant& variant : variants_) {
        if (folder_.is_finished(variant)) {
          files.push_back(folder_.partial_file(variant));
          continue;
        }
        RunSummary summary;
        summary.status = "failed";
        const VariantFailure failure = folder_.failure(variant);
        summary.error = failure.why;
        add_deck_attributes(variant.deck, summary);
        add_sweep_attributes(variant, identity_, failure.code, summary);
        failed.push_back(std::move(summary));
      }
      // In this order: the partial files go only when the results are in place, whatever happens between.
      assemble_results(folder_.results_file(), files, provenance_, failed);
      folder_.remove_partial();
    });
  }

  const Communicator& world_;
  std::vector<Variant> variants_;
  std::vector<RunLabel> labels_;  ///< of their lines
  SweepIdentity identity_;
  SweepFolder folder_;
  Provenance provenance_;
  StopMonitor& stop_;
  CommandStatus& status_;
  SweepPace pace_;
  LiveLine line_{LineEnd::erased};
};

SweepScale scale_of(const DeckArguments& arguments) {
  if (arguments.smoke) return SweepScale::smoke;
  return arguments.quick ? SweepScale::quick : SweepScale::full;
}

/// Collective. The variants of a deck on this world; a quick sweep leaves out what asks for more ranks than there are.
std::vector<Variant> variants_of(SweepOptions options, SweepScale scale, const Communicator& world) {
  return agreed(world, [&] {
    if (scale == SweepScale::quick)
      for (const int ranks : drop_ranks_above(options, world.size()))
        log_warning(
            fmt::format("sweep.ranks: {} is left out of this quick sweep (this job has {})", ranks, world.size()));
    return expand(options, world.size());
  });
}

}  // namespace

ExitCode sweep_command(const DeckArguments& arguments, const Communicator& world) {
  StopMonitor stop;
  if (!arguments.only_shows()) stop.listen();  // a request while it is being read counts
  if (arguments.quiet) set_log_level(LogLevel::warning);
  const SweepScale scale = scale_of(arguments);
  const Deck deck = share_deck(
      world, arguments.deck, [&] { return load_sweep_deck(arguments.deck, arguments.overrides, scale, world.size()); });
  const SweepOptions options = agreed(world, [&] { return read_sweep_options(deck); });
  std::vector<Variant> variants = variants_of(options, scale, world);
  if (arguments.print_config) {
    if (world.is_root()) print(deck.to_yaml());
    return ExitCode::complete;
  }
  const RunSettings settings = agreed(world, [&] { return sweep_settings(variants); });
  log_heading(scale == SweepScale::full ? "sweep" : fmt::format("{} sweep", word_of(scale, kSweepScaleWords)),
              arguments.deck);
  log_info(
      fmt::format("{:<10}{} on up to {} ranks, output {}", "variants", variants.size(), world.size(), settings.output));
  agreed(world, [&] {
    if (world.is_root()) check_any_inputs(variants);
  });
  if (arguments.dry_run) {
    log_plan(variants);
    return ExitCode::complete;
  }
  const SweepFolder folder(settings.output, scale);
  const std::unique_ptr<FolderLock> lock =  // until the results are written
      hold_output(world, settings.output, [&] { folder.require_own(variants); });
  const bool again = settings.resume.mode == ResumeMode::never;
  const int finished = agreed(world, [&] { return world.is_root() && folder.open(variants, again); });
  if (world.allreduce(finished, ReduceOp::max)) {
    log_finished(folder.results_file(), "sweep");
    print_if_quiet(folder.results_file(), arguments, world);
    return end_code(world, folder.results_file(), Verbosity::quiet);
  }
  stop.set_wall_limit(settings.wall_limit);
  CommandStatus status;
  status.open(world, "sweep", {settings.output, settings.prometheus.value_or("")});
  const Verbosity verbosity = arguments.quiet ? Verbosity::quiet : Verbosity::progress;
  Sweep sweep(world, std::move(variants), {scale, deck.to_yaml(), options.timeout_s, verbosity}, folder,
              full_provenance(world, arguments.command_line), stop, status);
  const ExitCode code = status.end_of([&] { return sweep.run(); });
  if (code != ExitCode::stopped) print_if_quiet(folder.results_file(), arguments, world);
  return code;
}

}  // namespace multicard
