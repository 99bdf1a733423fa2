// Conditions of ranks, of those that are there and of those that are imagined.
#include "dist/RankConditions.hpp"

#include <stdexcept>

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "dist/ImaginedRanks.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::world;

TEST(RankConditions, AreThoseOfAllRanks) {
  const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  const bool is_first = world().rank() == 0, is_alone = world().size() == 1;

  EXPECT_TRUE(on_any_rank(*collectives, is_first));
  EXPECT_FALSE(on_any_rank(*collectives, false));
  EXPECT_EQ(on_every_rank(*collectives, is_first), is_alone);
  EXPECT_TRUE(on_every_rank(*collectives, true));
}

TEST(RankConditions, OfWorkAreKnownToThoseThatHaveDoneIt) {
  const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  const bool fails = world().rank() == world().size() - 1;
  const auto work = [&] {
    if (fails) throw std::runtime_error("no");
  };

  if (fails)
    EXPECT_THROW(done_on_every_rank(*collectives, work), std::runtime_error);
  else
    EXPECT_FALSE(done_on_every_rank(*collectives, work));
  EXPECT_TRUE(done_on_every_rank(*collectives, [] {}));
}

TEST(ImaginedRanks, HaveWhatThisRankHas) {
  ImaginedRanks ranks(4, at::kCPU);
  const at::Tensor sum = at::full({8}, 3.0), parts = sum.clone();

  ranks.start_all_reduce(sum, {})->wait();
  ranks.start_reduce_scatter(parts, CommDtype::same)->wait();

  EXPECT_TRUE(at::equal(sum, at::full({8}, 12.0)));
  EXPECT_TRUE(at::equal(parts.narrow(0, 0, 2), at::full({2}, 12.0)));
  EXPECT_TRUE(on_every_rank(ranks, true));
  EXPECT_FALSE(on_any_rank(ranks, false));
}

TEST(ImaginedRanks, GatherZeros) {
  ImaginedRanks ranks(4, at::kCPU);
  const at::Tensor whole = at::ones({8});

  ranks.start_all_gather(at::ones({2}), whole)->wait();

  EXPECT_TRUE(at::equal(whole, at::zeros({8})));
}

TEST(ImaginedRanks, TakeTheFirstOfScatteredRows) {
  ImaginedRanks ranks(2, at::kCPU);
  const at::Tensor all = at::full({3, 2}, 5.0), mine = at::zeros({2, 2});

  ranks.scatter_rows(all, mine, {2, 1}, 0);

  EXPECT_TRUE(at::equal(mine, all.narrow(0, 0, 2)));
}

}  // namespace
}  // namespace multicard
