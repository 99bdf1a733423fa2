#pragma once
// Runs that are moved between groups of ranks, and what is compared of them.

#include <map>
#include <set>

#include "run/MovableRun.hpp"
#include "support/language_run.hpp"

namespace multicard::test {

/// Some ranks of the world, of which this rank is one or not. Collective over the world.
struct Group {
  /// The first ones.
  explicit Group(int num_ranks)
      : size(num_ranks), member(world().rank() < num_ranks), ranks(world().split(member ? 0 : 1, world().rank())) {}
  /// Those of the set, which keep their order; one alone gets the null communicator.
  explicit Group(const std::set<int>& of)
      : size(static_cast<int>(of.size())),
        member(of.count(world().rank()) > 0),
        ranks(world().split(member ? 0 : 1, world().rank())) {
    if (size == 1) ranks = Communicator::null();
  }
  std::optional<Communicator> mine() const { return member ? std::optional(ranks) : std::nullopt; }

  int size;
  bool member;
  Communicator ranks;
};

/// Steps to do on a number of ranks, the first.
struct Stage {
  int num_ranks;
  std::int64_t num_steps;
};

struct Outcome {
  RunSummary summary;
  RankRows rows;
  NamedTensors state;
};

inline Outcome finish(TaskRun& training) {
  RunResult result = training.finish(nullptr);
  if (result.failure) throw Error(*result.failure);
  NamedTensors state;
  if (training.model() != nullptr)  // whole on this rank
    for (const NamedTensor& entry : training.task().model_part().tensors)
      state.push_back({entry.name, entry.tensor.detach().clone()});
  return {result.summary, result.rows, state};
}

/// Collective over the world. Moves the run to the group, which trains that many steps.
inline void advance_on(MovableRun& movable, const Group& group, std::int64_t num_steps) {
  movable.move_to(group.mine());
  if (movable.run()) movable.run()->advance(num_steps, nullptr);
}

inline const TaskRunOptions kQuiet{Verbosity::quiet, std::nullopt, false};

/// Collective over the world. The outcome as the rank that ends the run has it.
inline Outcome move_through(const RunOptions& options, const std::vector<Stage>& stages) {
  std::map<int, Group> groups;  // the same communicator for the same size; 0: no rank has the run
  MovableRun movable(options, "", world(), kQuiet);
  for (const Stage& stage : stages) {
    const Group& group = groups.try_emplace(stage.num_ranks, stage.num_ranks).first->second;
    advance_on(movable, group, stage.num_steps);
  }
  return movable.run() ? finish(*movable.run()) : Outcome{};
}

/// The same through the files of checkpoints.
inline Outcome resume_through(RunOptions options, const std::vector<Stage>& stages) {
  options.run.keep_checkpoints = 1;
  options.run.checkpoint_every = 0;
  Outcome outcome;
  std::int64_t done = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const Group group(stages[i].num_ranks);
    if (group.member) {
      const std::optional<std::string> newest = CheckpointStore(options.run.output, 1).newest();
      TaskRun training(options, "", group.ranks, {Verbosity::quiet, i == 0 ? std::nullopt : newest, true});
      training.advance(stages[i].num_steps, nullptr);
      outcome = finish(training);
      done += stages[i].num_steps;
    }
    world().barrier();
  }
  return outcome;
}

inline void expect_equal_bits(const Outcome& a, const Outcome& b) {
  for (const char* metric : {"train_loss", "grad_norm", "learning_rate"}) {
    EXPECT_EQ(a.summary.metrics.at(metric).values, b.summary.metrics.at(metric).values) << metric;
    EXPECT_EQ(a.summary.metrics.at(metric).steps, b.summary.metrics.at(metric).steps) << metric;
  }
  ASSERT_FALSE(a.state.empty());
  ASSERT_EQ(a.state.size(), b.state.size());
  for (std::size_t i = 0; i < a.state.size(); ++i)
    EXPECT_TRUE(a.state[i].tensor.equal(b.state[i].tensor)) << a.state[i].name;
}

inline void expect_near(const Outcome& a, const Outcome& b, double tolerance) {
  const auto& x = a.summary.metrics.at("train_loss").values;
  const auto& y = b.summary.metrics.at("train_loss").values;
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(x[i], y[i], tolerance * (1 + std::abs(y[i]))) << i;
}

/// Every rank that ever ran has its row, with a value for each step it took part in.
inline void expect_rows(const Outcome& outcome, const std::vector<Stage>& stages, std::int64_t rows_per_step) {
  std::map<int, RankRecord> all = outcome.rows;
  std::int64_t num_steps = 0;
  for (const Stage& stage : stages)
    num_steps += stage.num_steps;
  std::vector<std::int64_t> samples(static_cast<std::size_t>(num_steps));
  for (const auto& [row, record] : all) {
    ASSERT_EQ(record.samples.size(), samples.size()) << "row " << row;
    for (std::size_t step = 0; step < samples.size(); ++step)
      samples[step] += record.samples[step];
  }
  EXPECT_EQ(samples, std::vector<std::int64_t>(static_cast<std::size_t>(num_steps), rows_per_step));
  ASSERT_EQ(outcome.summary.segments.size(), stages.size());
  for (std::size_t i = 0; i < stages.size(); ++i)
    EXPECT_EQ(outcome.summary.segments[i].ranks, stages[i].num_ranks);
}

/// 24 rows in batches of 8: epochs of 3 steps, so that every move but the first is inside one.
inline RunOptions image_options(const ScratchFolder& scratch) {
  RunOptions options = trained_start(scratch);
  options.model.freeze_batch_norm = true;
  options.data.limit = 24;
  options.data.test.reset();
  options.run.epochs = 1;
  options.run.steps = 20;
  options.parallel.bucket_mb = 0.2;
  options.data.image_size = 32;
  return options;
}

}  // namespace multicard::test
