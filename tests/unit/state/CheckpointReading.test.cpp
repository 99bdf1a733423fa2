#include <filesystem>
#include <optional>

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include "io/Bytes.hpp"
#include "io/Seal.hpp"
#include "state/CheckpointParts.hpp"
#include "state/CheckpointStore.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

namespace fs = std::filesystem;
using test::ScratchFolder;

CheckpointParts parts() {
  return {{kModelFile, {{"w", at::full({2, 3}, 1.0)}}}};
}

TrainerState state_at(std::int64_t step) {
  return {step, step * 8, 8, "a: 1\n"};
}

TEST(CheckpointReading, KnowsTheRecordsThatWereWrittenWithIt) {
  const ScratchFolder scratch;
  const CheckpointStore store(scratch / "run", 2);
  const std::string records = scratch / "records.h5", checkpoint = scratch / "run/checkpoints/step_00000010";
  store.write(state_at(10), parts(), std::nullopt, [&] {
    write_file(records, "timings");
    return records;
  });

  EXPECT_TRUE(CheckpointStore::has_records(checkpoint, records));
  write_file(records, "tinings");
  EXPECT_FALSE(CheckpointStore::has_records(checkpoint, records));
  fs::remove(records);
  EXPECT_FALSE(CheckpointStore::has_records(checkpoint, records));
}

TEST(CheckpointReading, ReadsTheSealOfRecordsThatItDoesNotName) {
  const ScratchFolder scratch;
  const CheckpointStore store(scratch / "run", 2);
  const std::string records = scratch / "records.h5", checkpoint = scratch / "run/checkpoints/step_00000010";
  store.write(state_at(10), parts());
  write_file(records, "timings");
  EXPECT_TRUE(CheckpointStore::has_records(checkpoint, records));

  seal(records);

  EXPECT_TRUE(CheckpointStore::has_records(checkpoint, records));
  write_file(records, "tinings" + read_file(records).substr(7));
  EXPECT_FALSE(CheckpointStore::has_records(checkpoint, records));
}

}  // namespace
}  // namespace multicard
