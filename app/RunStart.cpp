#include "RunStart.hpp"

#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "comm/Agreement.hpp"
#include "io/AtomicFile.hpp"
#include "io/OwnFiles.hpp"
#include "results/ResultsReader.hpp"
#include "results/TrialRead.hpp"
#include "state/CheckpointStore.hpp"
#include "tasks/ResumeCompatibility.hpp"
#include "tasks/RunInputs.hpp"

namespace multicard {

namespace {

/// What the results file says of the run before.
struct Before {
  std::string status;  ///< empty when there is no file
  std::string deck;
  bool ended_early = false;  ///< by evaluate.patience
};

/// UsageError when the file is a sweep's or another command's: it would be lost.
Before read_before(const std::string& results) {
  read_on_trial(results);
  const ResultsFile file = ResultsFile::open(results, Seal::is_checked);
  if (file.run_names() != std::vector<std::string>{"main"})
    throw UsageError(fmt::format("{} holds the results of another command", results), "this run would replace them",
                     "Set another run.output, or run.resume=never to replace them.");
  const RunSummary summary = file.run("main").summary;
  const auto deck = summary.text.find("deck");
  if (deck == summary.text.end()) throw DataError(fmt::format("{} is damaged", results), "its run has no deck");
  try {
    Deck::parse(deck->second, results);
  } catch (const UsageError& error) {
    throw DataError(fmt::format("{} is damaged", results), error.what());
  }
  return {summary.status, deck->second, summary.integers.contains("early_stop_step")};
}

/// Of a finished or stopped run in `results`. A damaged file does not keep a run from resuming when it is out of the
/// way.
Before before_in(const std::string& results, const std::optional<std::string>& checkpoint) {
  if (!std::filesystem::exists(results)) return {};
  try {
    return read_before(results);
  } catch (const DataError& error) {
    const std::string advice =
        checkpoint
            ? fmt::format("Move it away: the run then resumes from {}, whose records are beside it.", *checkpoint)
            : "Move it away, or set run.resume=never to replace it.";
    throw DataError(error.problem(), error.why(),
                    error.suggestion().empty() ? advice : fmt::format("{} {}", error.suggestion(), advice));
  }
}

/// "1 epoch", "400 steps": what the deck asks for.
std::string length_text(const Deck& deck) {
  const std::string steps = deck.get_text("run.steps"), epochs = deck.get_text("run.epochs");
  if (!steps.empty()) return fmt::format("{} step{}", steps, steps == "1" ? "" : "s");
  return fmt::format("{} epoch{}", epochs, epochs == "1" ? "" : "s");
}

bool has_same_patience(const Deck& a, const Deck& b) {
  const auto is_same = [&](const char* key) { return a.get_text(key) == b.get_text(key); };
  return is_same("evaluate.patience") && is_same("evaluate.min_delta");
}

/// A schedule that ends with the run ends elsewhere when the run is made longer.
std::string warning_of(const ScheduleOptions& schedule, const Deck& before, const Deck& now) {
  if (!schedule.has_end() || schedule.total_steps || length_text(before) == length_text(now)) return {};
  return fmt::format(
      "the {} schedule ends with the run, which is now {} instead of {}: the learning rate jumps to the curve of the "
      "new length. Set schedule.total_steps from the start to keep one curve.",
      word_of(schedule.name, kScheduleWords), length_text(now), length_text(before));
}

/// The checkpoint to resume from.
RunStart checkpoint_of(const RunOptions& options) {
  const CheckpointStore store(options.run.output, options.run.keep_checkpoints);
  RunStart start;
  start.checkpoint = store.newest();
  if (options.run.resume.mode == ResumeMode::automatic) return start;
  const std::string& path = options.run.resume.path;
  // A run that was told to begin from a checkpoint and is started again resumes where it got to.
  start.checkpoint = store.newest_from(path);
  if (start.checkpoint)
    start.named = path;
  else
    start.checkpoint = path;
  return start;
}

/// What is not there cannot be what the run began with: that is said first.
void check_compatible(const Deck& before, const Deck& now, const RunOptions& options) {
  const std::optional<Error> changed = error_of([&] { check_resume_compatibility(before, now); });
  if (!changed) return;
  check_inputs(options);
  throw Error(*changed);
}

/// For one process.
RunStart decide(const RunOptions& options, const Deck& deck, const std::string& results) {
  if (options.run.resume.mode == ResumeMode::never) return {};
  RunStart start = checkpoint_of(options);
  const Before recorded = before_in(results, start.checkpoint);
  const bool complete = recorded.status == "complete";
  if (!start.checkpoint && !complete) return {};
  // The checkpoint's deck is what the weights come from; the results file may be of an earlier launch.
  const std::string text = start.checkpoint ? CheckpointStore::read_state(*start.checkpoint).deck : recorded.deck;
  const Deck before = Deck::parse(text, start.checkpoint.value_or(results));
  check_compatible(before, deck, options);
  // Naming a checkpoint of a finished run asks for training from there once more.
  const bool goes_back = start.checkpoint == options.run.resume.path;
  if (complete && !goes_back) {
    const Deck finished = Deck::parse(recorded.deck, results);
    start.finished =
        length_text(finished) == length_text(deck) && (!recorded.ended_early || has_same_patience(finished, deck));
  }
  start.warning = warning_of(options.schedule, before, deck);
  return start;
}

}  // namespace

std::string RunStart::text() const {
  if (!checkpoint) return {};
  if (named.empty()) return fmt::format(" (resuming from {})", *checkpoint);
  return fmt::format(" (resuming from {}, which this run reached from {})", *checkpoint, named);
}

std::unique_ptr<FolderLock> hold_output(const Communicator& world, const std::string& folder,
                                        const std::function<void()>& check) {
  std::unique_ptr<FolderLock> lock;
  agreed(world, [&] {
    if (!world.is_root()) return;
    // In this order: with the lock nothing changes between the check and what follows it.
    lock = std::make_unique<FolderLock>(folder);
    check();
    remove_abandoned(end_of_links((std::filesystem::path(folder) / "results.h5").string()));
  });
  return lock;
}

RunStart find_start(const Communicator& world, const RunOptions& options, const Deck& deck,
                    const std::string& results) {
  RunStart start = agreed(world, [&] { return world.is_root() ? decide(options, deck, results) : RunStart{}; });
  // Texts stay on rank 0, which alone logs them.
  start.finished = world.broadcast_value(start.finished ? 1 : 0) == 1;
  const std::string checkpoint = world.broadcast(start.checkpoint.value_or(""));
  start.checkpoint = checkpoint.empty() ? std::nullopt : std::optional(checkpoint);
  return start;
}

}  // namespace multicard
