// Which ranks of a run multicard-post profile shows, and what it says of their steps.
#include "postproc/trace/ReadProfiles.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "results/ProfileTables.hpp"
#include "results/ResultsWriter.hpp"
#include "support/test_world.hpp"

namespace multicard::post {
namespace {

/// Of rank r, steps of r + 1 us of a kernel, and one more on the last rank.
Profile profile_of_rank(int rank, int num_ranks) {
  Profile profile;
  profile.num_steps = rank == num_ranks - 1 ? 3 : 2;
  profile.window_ns = 1000;
  const std::int64_t ns = 1000 * (rank + 1);
  profile.kernels = {{"gemm", distribution_of({ns, ns})}};
  profile.calls = {{"cudaLaunchKernel", distribution_of({ns})}};
  profile.threads = {{"main", 1, 1000, 600, 100}};
  profile.gpus = {{.device = rank % 4, .span = 2000, .busy = 1000, .compute = 1000}};
  profile.streams = {{.device = rank % 4, .stream = 7, .count = 2, .gaps = distribution_of({ns})}};
  profile.delays.from_start = profile.delays.from_end = profile.delays.queue = distribution_of({-ns});
  add_shares(profile);
  return profile;
}

class ReadProfiles : public testing::Test {
 protected:
  ProfileSet read(int num_ranks, const std::vector<std::string>& chosen = {}) {
    RankRows rows;
    for (int rank = 0; rank < num_ranks; ++rank)
      rows[rank].tables = tables_of_profile(profile_of_rank(rank, num_ranks));
    RunSummary summary;
    summary.name = "main";
    summary.integers = {{"ranks", num_ranks}};
    const std::string file = folder_ / "results.h5";
    write_results(file, Communicator::null(), Provenance{}, summary, rows);
    return read_run_profile(file, "", rank_choice(chosen));
  }

  test::ScratchFolder folder_;
};

TEST_F(ReadProfiles, FewRanksAreShownEach) {
  const ProfileSet set = read(8);

  EXPECT_FALSE(set.is_sum);
  ASSERT_EQ(set.ranks.size(), 8u);
  EXPECT_EQ(set.ranks[5].profile.rank, 5);
  EXPECT_NE(profile_text(set, 10, {}).find("Recorded: 2 steps of each of ranks 0-6, 3 steps of rank 7.\n"),
            std::string::npos);
}

TEST_F(ReadProfiles, ManyRanksAreAddedUp) {
  const ProfileSet set = read(9);

  ASSERT_TRUE(set.is_sum);
  ASSERT_EQ(set.ranks.size(), 1u);
  const Profile& sum = set.ranks.front().profile;
  EXPECT_EQ(sum.num_steps, 19);
  EXPECT_EQ(sum.kernels.front().time.count, 18);
  EXPECT_EQ(sum.kernels.front().time.total, 90'000);
  EXPECT_EQ(sum.kernels.front().time.max, 9000);
  EXPECT_DOUBLE_EQ(sum.kernels.front().time.mean, 5000);
  EXPECT_EQ(sum.threads.front().idle_ns(), 9 * 300);
  ASSERT_EQ(sum.gpus.size(), 1u) << "of all nodes";
  EXPECT_EQ(sum.gpus.front().busy, 9000);
  EXPECT_EQ(sum.streams.front().gaps.count, 9);
  EXPECT_EQ(sum.delays.queue.max, -1000);
  EXPECT_DOUBLE_EQ(sum.shares.at(2).share().value(), 1);
  const std::string text = profile_text(set, 10, {});
  EXPECT_NE(text.find("--rank N shows one of them"), std::string::npos);
  EXPECT_EQ(text.find("\nrank"), std::string::npos) << "a sum has no column of ranks";
  EXPECT_NE(profile_csv(set, "threads").find("main,,9,9000,"), std::string::npos) << profile_csv(set, "threads");
  EXPECT_NE(profile_json(set).find("\"added_ranks\": 9"), std::string::npos);
}

TEST_F(ReadProfiles, RanksAreChosen) {
  EXPECT_EQ(read(9, {"all"}).ranks.size(), 9u);
  const ProfileSet set = read(9, {"7", "3"});

  ASSERT_EQ(set.ranks.size(), 2u);
  EXPECT_EQ(set.ranks[0].profile.rank, 3);
  EXPECT_EQ(set.ranks[1].profile.kernels.front().time.total, 16'000);
  EXPECT_EQ(recorded_text(set.recorded), "2 steps of each of ranks 3, 7");
  EXPECT_THROW(read(9, {"9"}), UsageError);
  EXPECT_THROW(rank_choice({"-1"}), UsageError);
  EXPECT_THROW(rank_choice({"first"}), UsageError);
}

TEST(RankList, NamesRangesAndNotTooMany) {
  std::vector<std::int64_t> odd;
  for (std::int64_t rank = 1; rank < 100; rank += 2)
    odd.push_back(rank);

  EXPECT_EQ(rank_list({0, 1, 2, 5, 7, 8}), "0-2, 5, 7-8");
  EXPECT_EQ(rank_list(odd), "1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23 and 38 more");
}

}  // namespace
}  // namespace multicard::post
