#include "train/CheckpointStore.hpp"

#include <cmath>
#include <fstream>
#include <limits>

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "state/TensorFile.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

namespace fs = std::filesystem;
using test::ScratchFolder;
using test::world;

NamedTensors tensors(double value) {
  return {{"w", at::full({2, 3}, value, at::kFloat)}};
}

TEST(CheckpointStore, KeepsTheNewestCompleteOnes) {
  const ScratchFolder scratch;
  const CheckpointStore store(scratch / "run", 2);
  EXPECT_EQ(store.newest(), std::nullopt);

  for (const std::int64_t step : {10, 20, 30})
    store.save(world(), {step, step * 8, 8, "a: 1\n"}, tensors(1.0), tensors(2.0));

  ASSERT_TRUE(store.newest());
  const TrainerState state = CheckpointStore::read_state(*store.newest());
  EXPECT_EQ(state.step, 30);
  EXPECT_EQ(state.samples_seen, 240);
  EXPECT_EQ(state.global_batch, 8);
  EXPECT_EQ(state.deck, "a: 1\n");
  EXPECT_EQ(TensorFile(CheckpointStore::optimizer_file(*store.newest())).load("w")[1][2].item<float>(), 2.0f);
  EXPECT_TRUE(fs::exists(scratch / "run/checkpoints/step_00000020/COMPLETE"));
  EXPECT_FALSE(fs::exists(scratch / "run/checkpoints/step_00000010"));
}

TEST(CheckpointStore, IgnoresWhatIsNotComplete) {
  const ScratchFolder scratch;
  const CheckpointStore store(scratch / "run", 2);
  store.save(world(), {10, 80, 8, ""}, tensors(1), tensors(1));
  store.save(world(), {20, 160, 8, ""}, tensors(1), tensors(1));
  if (world().is_root()) fs::remove(scratch / "run/checkpoints/step_00000020/COMPLETE");
  world().barrier();

  EXPECT_EQ(*store.newest(), scratch / "run/checkpoints/step_00000010");
  EXPECT_THROW(CheckpointStore::read_state(scratch / "run/checkpoints/step_00000020"), DataError);
}

TEST(CheckpointStore, NeverHoldsNonFiniteValues) {
  const ScratchFolder scratch;
  const CheckpointStore store(scratch / "run", 2);
  store.save(world(), {10, 80, 8, ""}, tensors(1), tensors(1));

  EXPECT_THROW(store.save(world(), {20, 160, 8, ""}, tensors(std::numeric_limits<double>::infinity()), tensors(1)),
               Error);
  EXPECT_THROW(store.save(world(), {20, 160, 8, ""}, tensors(1), tensors(std::nan(""))), Error);

  EXPECT_EQ(*store.newest(), scratch / "run/checkpoints/step_00000010");
}

TEST(CheckpointStore, DropsAnAbandonedFuture) {
  const ScratchFolder scratch;
  const CheckpointStore store(scratch / "run", 2);
  for (const std::int64_t step : {10, 20, 30})
    store.save(world(), {step, step * 8, 8, ""}, tensors(1), tensors(1));

  store.save(world(), {25, 200, 8, ""}, tensors(1), tensors(1));  // gone on from step 20

  EXPECT_EQ(*store.newest(), scratch / "run/checkpoints/step_00000025");
}

TEST(CheckpointStore, NamesWhatIsWrongWithADamagedOne) {
  const ScratchFolder scratch;
  const CheckpointStore store(scratch / "run", 2);
  store.save(world(), {10, 80, 8, ""}, tensors(1), tensors(1));
  if (world().is_root()) std::ofstream(scratch / "run/checkpoints/step_00000010/trainer.json") << "{\"step\": ";
  world().barrier();

  EXPECT_THROW(CheckpointStore::read_state(*store.newest()), DataError);
}

}  // namespace
}  // namespace multicard
