#include "comm/MpiTotals.hpp"

#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "comm/Communicator.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::world;

TEST(MpiTotals, CountCallsBytesAndTimeOfEachFunction) {
  const MpiTotalsByFunction before = mpi_totals();
  std::vector<double> values(100);
  world().allreduce(std::span(values), ReduceOp::sum);
  world().allreduce(std::span(values).first(10), ReduceOp::max);
  world().barrier();
  const MpiTotalsByFunction since = mpi_totals_since(before);
  EXPECT_EQ(since.at("MPI_Allreduce").calls, 2);
  EXPECT_EQ(since.at("MPI_Allreduce").bytes, 880);
  EXPECT_GT(since.at("MPI_Allreduce").ns, 0);
  EXPECT_EQ(since.at("MPI_Barrier").calls, 1);
  EXPECT_EQ(since.at("MPI_Barrier").bytes, 0);
  EXPECT_FALSE(since.contains("MPI_Bcast"));
}

TEST(MpiTotals, OfAGatherWhoseRanksDifferAreThoseOfEachRank) {
  const MpiTotalsByFunction before = mpi_totals();
  world().gather(std::string(static_cast<std::size_t>(world().rank()) + 1, 'x'));
  EXPECT_EQ(mpi_totals_since(before).at("MPI_Gatherv").bytes, world().rank() + 1);
}

TEST(MpiTotals, OfOneRankWithoutMpiStayAsTheyAre) {
  const MpiTotalsByFunction before = mpi_totals();
  Communicator::null().barrier();
  EXPECT_FALSE(mpi_totals_since(before).contains("MPI_Barrier"));
}

}  // namespace
}  // namespace multicard
