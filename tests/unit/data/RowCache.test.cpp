#include "data/shards/RowCache.hpp"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "base/System.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::world;

using Row = std::vector<std::uint8_t>;

TEST(RowCache, ShowsEveryRankWhatAnyHasPutIn) {
  const std::int64_t num_rows = 4 * world().size() + 1;
  RowCache cache(num_rows, 3, world());
  Row got(3);
  for (std::int64_t row = 0; row < num_rows; ++row)
    EXPECT_FALSE(cache.get(row, got));
  world().barrier();

  for (std::int64_t row = world().rank(); row < num_rows - 1; row += world().size())
    cache.put(row, Row{static_cast<std::uint8_t>(row), 2, static_cast<std::uint8_t>(row + 7)});
  world().barrier();

  for (std::int64_t row = 0; row < num_rows - 1; ++row) {
    EXPECT_TRUE(cache.get(row, got));
    EXPECT_EQ(got, (Row{static_cast<std::uint8_t>(row), 2, static_cast<std::uint8_t>(row + 7)}));
  }
  EXPECT_FALSE(cache.get(num_rows - 1, got));
}

TEST(RowCache, ReportsItsMemory) {
  const RowCache cache(101, 50, world());

  EXPECT_EQ(RowCache::bytes(101, 50), 101 * 51);
  EXPECT_EQ(cache.bytes_of_rank(101), (101 * 51 + world().size() - 1) / world().size());
}

TEST(RowCache, TakesMemoryAsRowsComeIn) {
  constexpr std::int64_t kRowBytes = 1 << 20;
  const std::int64_t before = resident_bytes();
  RowCache cache(std::int64_t{1} << 22, kRowBytes, world());  // 4 TiB
  EXPECT_LT(resident_bytes() - before, 8 * kRowBytes);
  cache.put((std::int64_t{1} << 22) - 1, Row(kRowBytes, 9));
  world().barrier();

  Row got(kRowBytes);
  EXPECT_TRUE(cache.get((std::int64_t{1} << 22) - 1, got));
  EXPECT_EQ(got, Row(kRowBytes, 9));
}

TEST(RowCache, OutlivesTheOtherRanksUse) {
  std::unique_ptr<RowCache> cache = std::make_unique<RowCache>(world().size(), 1, world());
  cache->put(world().rank(), Row{5});
  world().barrier();
  if (world().is_root()) cache.reset();
  world().barrier();
  Row got(1);
  for (std::int64_t row = 0; cache && row < world().size(); ++row)
    EXPECT_TRUE(cache->get(row, got) && got[0] == 5);
}

TEST(RowCache, GivesWholeRowsWhileOthersPutThem) {
  constexpr std::int64_t kRows = 64, kRowBytes = 4096;
  RowCache cache(kRows, kRowBytes, world());
  const auto value = [](std::int64_t row) { return static_cast<std::uint8_t>(row + 1); };
  std::vector<std::thread> threads;
  std::vector<int> num_torn(3);
  for (int& torn : num_torn)
    threads.emplace_back([&] {
      Row got(kRowBytes);
      for (std::int64_t row = 0; row < kRows; ++row) {
        if (!cache.get(row, got)) {
          cache.put(row, Row(kRowBytes, value(row)));
        } else if (got != Row(kRowBytes, value(row))) {
          ++torn;
        }
      }
    });
  for (std::thread& thread : threads)
    thread.join();

  EXPECT_EQ(num_torn, std::vector<int>(3));
  world().barrier();
  Row got(kRowBytes);
  for (std::int64_t row = 0; row < kRows; ++row)
    EXPECT_TRUE(cache.get(row, got) && got == Row(kRowBytes, value(row))) << row;
}

}  // namespace
}  // namespace multicard
