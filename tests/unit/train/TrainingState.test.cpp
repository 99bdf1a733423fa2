// A run's state as a value: what is broadcast arrives whole.
#include "train/TrainingState.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::world;

at::Tensor numbers(std::int64_t count, at::ScalarType type) {
  return at::arange(count, at::TensorOptions().dtype(type));
}

RankRecord record(std::int64_t row) {
  RankRecord record;
  record.first_step = 3;
  record.steps.resize(2);
  record.steps[1].step = 0.5 + static_cast<double>(row);
  record.samples = {row, row + 1};
  record.counts["tokens"] = {7, 8};
  record.memory["host_peak_bytes"] = 1 << 20;
  record.communication["all_reduce"] = {3, 4, 5.5, 0.25, 0.125};
  return record;
}

TrainingState state_of_a_run() {
  TrainingState state;
  state.trainer = {12, 96, 8, "a: 1\n"};
  state.trainer.extra = {{"loss_scale", 0x1p-3}, {"data.rows", 1.0 / 3}};
  state.trainer.text = {{"base_model_sha256", "abc"}};
  state.trainer.origin = CheckpointOrigin{"/somewhere", "def"};
  state.source = "the run after step 12";
  state.parts = {{"model.safetensors",
                  {{"weight", numbers(24, at::kFloat).view({2, 3, 2, 2}).contiguous(at::MemoryFormat::ChannelsLast)},
                   {"count", numbers(1, at::kLong).sum()},
                   {"empty", at::zeros({0, 3})}}},
                 {"optimizer.safetensors", {{"step", at::full({}, 12.0)}}}};
  state.history = History{{{0, record(0)}, {2, record(2)}}, {{"train_loss", {{1.5, 0.1}, {3, 4}}}}, {{3, 3}, {4, 1}}};
  state.history->first_step = 3;
  state.history->num_steps = 2;
  state.history->num_ranks = 3;
  state.tables["answers"].text["prompt"] = {"one", "", "three\n"};
  state.tables["answers"].integers["n"] = {1, 2};
  state.tables["answers"].reals["x"] = {0.5};
  state.best = BestCheckpoint{9, 0.75};
  state.has_begun = true;
  state.stop_requested = true;
  state.saved_step = 10;
  return state;
}

TEST(TrainingState, ArrivesWholeOnEveryRank) {
  const int root = world().size() - 1;
  const TrainingState expected = state_of_a_run();
  TrainingState state = world().rank() == root ? state_of_a_run() : TrainingState{};
  broadcast(state, world(), root);

  EXPECT_EQ(state.trainer.step, 12);
  EXPECT_EQ(state.trainer.samples_seen, 96);
  EXPECT_EQ(state.trainer.global_batch, 8);
  EXPECT_EQ(state.trainer.deck, "a: 1\n");
  EXPECT_EQ(state.trainer.extra, expected.trainer.extra);
  EXPECT_EQ(state.trainer.text, expected.trainer.text);
  ASSERT_TRUE(state.trainer.origin);
  EXPECT_EQ(state.trainer.origin->path, "/somewhere");
  EXPECT_EQ(state.trainer.origin->sha256, "def");
  EXPECT_EQ(state.source, expected.source);
  EXPECT_EQ(state.tables["answers"].text, expected.tables.at("answers").text);
  EXPECT_EQ(state.tables["answers"].integers, expected.tables.at("answers").integers);
  EXPECT_EQ(state.tables["answers"].reals, expected.tables.at("answers").reals);
  ASSERT_TRUE(state.best);
  EXPECT_EQ(state.best->step, 9);
  EXPECT_EQ(state.best->score, 0.75);
  EXPECT_TRUE(state.has_begun && state.stop_requested);
  EXPECT_EQ(state.saved_step, 10);
}

TEST(TrainingState, TensorsArriveWithTheirLayout) {
  const TrainingState expected = state_of_a_run();
  TrainingState state = world().is_root() ? state_of_a_run() : TrainingState{};
  broadcast(state, world(), 0);

  ASSERT_EQ(state.parts.size(), 2u);
  for (std::size_t part = 0; part < 2; ++part) {
    EXPECT_EQ(state.parts[part].file, expected.parts[part].file);
    ASSERT_EQ(state.parts[part].tensors.size(), expected.parts[part].tensors.size());
    for (std::size_t i = 0; i < state.parts[part].tensors.size(); ++i) {
      const NamedTensor &one = state.parts[part].tensors[i], &other = expected.parts[part].tensors[i];
      EXPECT_EQ(one.name, other.name);
      EXPECT_EQ(one.tensor.strides(), other.tensor.strides()) << one.name;
      EXPECT_TRUE(one.tensor.equal(other.tensor)) << one.name;
    }
  }
}

TEST(TrainingState, TheHistoryOfAllRanksArrives) {
  TrainingState state = world().is_root() ? state_of_a_run() : TrainingState{};
  broadcast(state, world(), 0);

  ASSERT_TRUE(state.history);
  EXPECT_EQ(state.history->rows.size(), 2u);
  EXPECT_EQ(state.history->rows.at(2).steps[1].step, 2.5);
  EXPECT_EQ(state.history->rows.at(2).samples, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(state.history->rows.at(0).communication.at("all_reduce").seconds_total, 0.25);
  EXPECT_EQ(state.history->metrics.at("train_loss").values, (std::vector<double>{1.5, 0.1}));
  EXPECT_EQ(state.history->segments.size(), 2u);
  EXPECT_EQ(state.history->num_ranks, 3);
}

TEST(TrainingState, OfNothingIsNothing) {
  TrainingState state = world().is_root() ? TrainingState{} : state_of_a_run();
  broadcast(state, world(), 0);

  EXPECT_TRUE(state.trainer.extra.empty() && state.trainer.text.empty());
  EXPECT_FALSE(state.trainer.origin);
  EXPECT_FALSE(state.history);
  EXPECT_FALSE(state.best);
  EXPECT_TRUE(state.parts.empty() && state.tables.empty());
}

TEST(TrainingState, FillsTensorsOfTheSameNameAndShape) {
  const TrainingState state = state_of_a_run();
  const at::Tensor weight = at::zeros({2, 3, 2, 2}, at::kDouble), tracked = at::full({}, 5.0);
  copy_into({{"model.safetensors", {{"weight", weight}, {"bn.num_batches_tracked", tracked}}}}, state);

  EXPECT_TRUE(weight.equal(state.parts[0].tensors[0].tensor.to(at::kDouble)));
  EXPECT_EQ(tracked.item<double>(), 5.0) << "older files lack it";
  EXPECT_THROW(copy_into({{"model.safetensors", {{"weight", at::zeros({3, 2, 2, 2})}}}}, state), std::logic_error);
  EXPECT_THROW(copy_into({{"model.safetensors", {{"bias", at::zeros({3})}}}}, state), std::logic_error);
  EXPECT_THROW(copy_into({{"ema.safetensors", {}}}, state), std::logic_error);
}

TEST(TrainingState, HostCopiesStayAsTheyAre) {
  const at::Tensor weight = numbers(6, at::kFloat).view({2, 3}).t();
  const CheckpointParts copies = host_copies({{"model.safetensors", {{"weight", weight}}}});
  const at::Tensor before = weight.clone();
  weight.zero_();

  EXPECT_TRUE(copies[0].tensors[0].tensor.equal(before));
  EXPECT_EQ(copies[0].tensors[0].tensor.strides(), weight.strides());
}

}  // namespace
}  // namespace multicard
