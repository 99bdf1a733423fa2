#include "io/RankFile.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::ScratchFolder;
using test::world;

std::string part_of(int rank) {
  return rank == 1 ? std::string()
                   : std::string(1000 + 70'000 * static_cast<std::size_t>(rank), static_cast<char>('a' + rank));
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(RankFile, HasThePartsInTheOrderOfRanks) {
  const ScratchFolder scratch;
  std::string whole;
  for (int rank = 0; rank < world().size(); ++rank)
    whole += part_of(rank);

  const std::int64_t length = write_in_rank_order(scratch / "file", world(), part_of(world().rank()));

  EXPECT_EQ(length, static_cast<std::int64_t>(whole.size()));
  EXPECT_EQ(content(scratch / "file"), whole);
}

TEST(RankFile, ReplacesTheOneBefore) {
  const ScratchFolder scratch;
  write_in_rank_order(scratch / "file", world(), std::string(100'000, 'x'));

  write_in_rank_order(scratch / "file", world(), "short");

  EXPECT_EQ(content(scratch / "file").size(), 5u * static_cast<std::size_t>(world().size()));
}

TEST(RankFile, FailsOnAllRanksAndLeavesNothing) {
  const ScratchFolder scratch;
  if (world().is_root()) std::ofstream(scratch / "taken") << "no folder";
  world().barrier();

  EXPECT_THROW(write_in_rank_order((scratch / "taken") + "/file", world(), "part"), Error);
  EXPECT_THROW(write_in_rank_order("/proc/file", world(), "part"), Error);
}

TEST(RankFile, OfOneRankWithoutMpi) {
  const ScratchFolder scratch;
  const std::string path = scratch / ("alone" + std::to_string(world().rank()));

  EXPECT_EQ(write_in_rank_order(path, Communicator::null(), "part"), 4);
  EXPECT_EQ(content(path), "part");
}

}  // namespace
}  // namespace multicard
