#include "run/Resume.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/Log.hpp"
#include "base/RegularFile.hpp"
#include "base/Shown.hpp"
#include "comm/Agreement.hpp"
#include "comm/LongWork.hpp"
#include "data/shards/ClassNames.hpp"
#include "results/ResultsReader.hpp"

namespace multicard {

namespace {

/// The records stored with `checkpoint`, OUTPUT/checkpoints/NAME.
std::string records_of(const std::string& checkpoint) {
  const std::filesystem::path folder = std::filesystem::absolute(checkpoint + "/").lexically_normal().parent_path();
  return (folder.parent_path().parent_path() / "records" / (folder.filename().string() + ".h5")).string();
}

/// Calls `body`; an error names an older checkpoint next to `folder`, if there is one.
template <class Body>
void with_older_one(const std::string& folder, const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    throw CheckpointStore::with_older_one(error, folder);
  }
}

/// Of the checkpoints of `store`, when `folder` is one of them: those after it are an abandoned future.
/// Resuming from an older checkpoint abandons what was trained after it; a best score from there would be one that the
/// new run never reached, and would keep its own best from being saved.
std::optional<BestCheckpoint> best_until(const std::string& folder, std::int64_t step, const CheckpointStore& store) {
  if (!store.owns(folder)) return std::nullopt;
  const std::optional<BestCheckpoint> best = store.best();
  return best && best->step <= step ? best : std::nullopt;
}

/// For each rank. Together they read all of the tensors to see that they are the checkpoint's.
TrainingState load_tensors(const std::string& folder, TrainingSetup& setup, const CheckpointStore& store) {
  TrainingState state;
  state.trainer = CheckpointStore::read_state(folder);
  check_resumable(state.trainer, setup, folder);
  state.source = "checkpoint " + folder;
  const bool is_root = setup.communicator.is_root();
  with_older_one(folder, [&] {
    CheckpointStore::verify(folder, setup.communicator.rank(), setup.communicator.size());
    state.parts = read_parts(folder, setup.parts());
    setup.load(state);
  });
  if (!is_root) return state;
  if (folder == setup.options.run.resume.path) state.trainer.origin = CheckpointStore::origin_of(folder);
  state.best = best_until(folder, state.trainer.step, store);
  if (store.owns(folder)) state.saved_step = state.trainer.step;
  return state;
}

/// Collective. Rank 0 alone reads all of the file to see that it is the checkpoint's.
void read_records(TrainingState& state, const std::string& folder, const Communicator& communicator) {
  const std::string records = records_of(folder);
  enum Finding { none, absent, another, right };
  Finding seen = none;
  agreed_after_long_work(communicator, [&] {
    if (!communicator.is_root()) return;
    if (is_there(records))
      seen = CheckpointStore::has_records(folder, records) ? right : another;
    else if (CheckpointStore::names_records(folder))
      seen = absent;
  });
  const int found = communicator.broadcast_value(static_cast<int>(seen));
  if (found == another || found == absent)
    log_warning(fmt::format(
        "{} is {} {}: the results of this run begin without the timings and metrics in it.", records,
        found == absent ? "missing, which was written with" : "not the file that was written with", folder));
  if (found != right) return;
  agreed_after_long_work(communicator, [&] {
    with_older_one(folder, [&] {
      const RunData before = ResultsFile::open(records, Seal::is_checked).run("main");
      state.history = history_of(before);
      state.tables = before.summary.tables;
    });
  });
}

constexpr std::size_t kLongestList = 200;  // of class names, in bytes

/// The training data is what it was when `state` was made. \throws UsageError
/// Identities that the state lacks are not compared: a checkpoint of an older version can be resumed. The rows seen
/// catch a change of the number of rows, the checksums one of their content.
void check_data(const TrainerState& state, const TrainingSetup& setup, const std::string& source) {
  const auto refuse = [&](const std::string& why) {
    throw UsageError(fmt::format("data.train has changed: {} does not hold the data that {} was made with",
                                 setup.options.data.training_text(), source),
                     why, "Put them back, set another run.output, or run.resume=never to start over.");
  };
  for (const auto& [name, now] : setup.data().identity_texts())
    if (const auto before = state.text.find(name); before != state.text.end() && before->second != now)
      refuse(name == kClassesText ? fmt::format("the classes were {} and are {}", shown(before->second, kLongestList),
                                                shown(now, kLongestList))
                                  : "images have other labels, or are other images");
  const auto numbers = setup.data().identity();
  const bool same_numbers = std::all_of(numbers.begin(), numbers.end(), [&](const auto& number) {
    const auto before = state.extra.find(number.first);
    return before == state.extra.end() || before->second == number.second;
  });
  if (state.samples_seen != setup.rows_before(state.step) || !same_numbers) refuse("");
}

}  // namespace

void check_resumable(const TrainerState& state, const TrainingSetup& setup, const std::string& source) {
  if (state.global_batch != setup.global_batch)
    throw UsageError(
        fmt::format("the global batch has changed from {} to {} rows", state.global_batch, setup.global_batch),
        fmt::format("{} was made with the former", source),
        "Use as many ranks as before, or set run.global_batch instead of run.batch_per_rank.");
  for (const auto& [name, now] : setup.task->model_identity())
    if (const auto before = state.text.find(name); before != state.text.end() && before->second != now)
      throw UsageError(fmt::format("{} of the model has changed from {} to {}", name, before->second, now),
                       fmt::format("{} was made with the former", source),
                       "Put it back, set another run.output, or run.resume=never to start over.");
  check_data(state, setup, source);
  if (state.step > setup.num_steps)
    throw UsageError(
        fmt::format("run.steps or run.epochs ask for {} steps, but {} are done", setup.num_steps, state.step),
        fmt::format("{} holds them", source), "A run can only grow; run.resume=never starts over.");
}

// Three parts with different readers: tensors by each rank (the files' pages are shared on a node), their checksums by
// the ranks in turn, the record by each rank once rank 0 has found that it is the file that the checkpoint names.
TrainingState resume_from(const std::string& folder, TrainingSetup& setup, const CheckpointStore& store) {
  const Communicator& communicator = setup.communicator;
  setup.task->finish_identity();
  TrainingState state;
  agreed_after_long_work(communicator, [&] { state = load_tensors(folder, setup, store); });
  state.saved_step = communicator.broadcast_value(state.saved_step);
  read_records(state, folder, communicator);
  return state;
}

}  // namespace multicard
