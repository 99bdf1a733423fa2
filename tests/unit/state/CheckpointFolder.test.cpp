// What is next to checkpoints and in them.
#include <filesystem>

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"
#include "io/Bytes.hpp"
#include "io/OwnFiles.hpp"
#include "state/CheckpointParts.hpp"
#include "state/CheckpointStore.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

namespace fs = std::filesystem;
using test::ScratchFolder;

void write_at(const CheckpointStore& store, std::int64_t step) {
  store.write({step, step * 8, 8, "a: 1\n"}, {{kModelFile, {{"w", at::full({2, 3}, 1.0, at::kFloat)}}}});
}

TEST(CheckpointFolder, LeavesWhatItDidNotWrite) {
  const ScratchFolder scratch;
  const CheckpointStore store(scratch / "run", 1);
  const std::string folder = scratch / "run/checkpoints/";
  write_at(store, 10);
  const std::vector<std::string> foreign{".git/HEAD", "mine/model.pt", "step_00000010/notes", ".step_00000003/notes",
                                         "step_00000010.copy/COMPLETE"};
  for (const std::string& name : foreign)
    write_file(folder + name, "precious");

  write_at(store, 10);
  write_at(store, 20);
  store.clear();

  for (const std::string& name : foreign)
    EXPECT_EQ(read_file(folder + name), "precious") << name;
  EXPECT_FALSE(fs::exists(folder + "step_00000010/COMPLETE"));
  EXPECT_FALSE(fs::exists(folder + "step_00000020"));
}

TEST(CheckpointFolder, RefusesNamesThatOthersHaveTaken) {
  const ScratchFolder scratch;
  const CheckpointStore store(scratch / "run", 1);
  EXPECT_NO_THROW(store.require_own());
  write_file(scratch / "run/checkpoints/step_00000010/model.pt", "precious");
  EXPECT_THROW(store.require_own(), UsageError);

  EXPECT_THROW(write_at(store, 10), DataError);

  EXPECT_EQ(read_file(scratch / "run/checkpoints/step_00000010/model.pt"), "precious");
  // Weights of the name that ours have say nothing without a trainer.json.
  const std::string weights = scratch / "run/checkpoints/step_00000020/model.safetensors";
  write_file(weights, std::string("\x02\0\0\0\0\0\0\0{}", 10));
  EXPECT_THROW(write_at(store, 20), DataError);
  store.clear();
  EXPECT_TRUE(fs::exists(weights));
}

TEST(CheckpointFolder, KeepsTheLinkOfItsFolder) {
  const ScratchFolder scratch;
  const CheckpointStore store(scratch / "run", 1);
  fs::create_directories(scratch / "run");
  fs::create_directories(scratch / "big");
  fs::create_symlink("../big", scratch / "run/checkpoints");

  write_at(store, 10);
  EXPECT_TRUE(fs::exists(scratch / "big/step_00000010/COMPLETE"));
  store.clear();

  EXPECT_TRUE(fs::is_symlink(scratch / "run/checkpoints"));
  EXPECT_TRUE(names_in(scratch / "big").empty());
}

}  // namespace
}  // namespace multicard
