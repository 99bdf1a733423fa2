#include "results/ProfileTables.hpp"

#include <gtest/gtest.h>

#include "base/Error.hpp"

namespace multicard {
namespace {

Distribution times(std::vector<std::int64_t> values) {
  return distribution_of(std::move(values));
}

Profile example(std::int64_t scale) {
  Profile profile;
  profile.num_steps = 3;
  profile.window_ns = 1000 * scale;
  profile.calls = {{"cudaLaunchKernel", times({10 * scale, 20 * scale})}, {"cudaMemcpyAsync", times({10 * scale})}};
  profile.kernels = {{"gemm", times({60 * scale})}, {"ncclDevKernel_AllReduce", times({20 * scale})}};
  profile.collectives = {{"AllReduce", times({20 * scale})}};
  profile.copies = {{"HtoD", times({4 * scale}), 4096, 0}};
  profile.operators = {{"aten::mm", times({30 * scale}), {20 * scale, 60 * scale, 1, 512}, "forward"},
                       {"aten::mm", times({50 * scale}), {50 * scale, 0, 0, 0}, "backward"}};
  profile.phases = {{"forward", times({100 * scale}), {20 * scale, 60 * scale, 1, 512}}};
  profile.blocks = {{"layers.0", "backward", times({7 * scale}), {7 * scale, 0, 0, 0}}};
  profile.threads = {{"multicard", 2, 2000 * scale, 900 * scale, 100 * scale}};
  profile.exchanges = {{"all_reduce", {4, 1024, 1024.0, 0.5, 0.25}}};
  profile.mpi = {{"MPI_Send", 2, 16, 10 * scale}, {"MPI_Allreduce", 3, 24, 700 * scale}};
  profile.files = {{"read_independent", {3, 4096, 0.25, 0.5}}};
  profile.gpus = {{.device = 1, .span = 200 * scale, .busy = 150 * scale, .compute = 60 * scale}};
  profile.streams = {{.device = 1, .stream = 7, .count = 3, .span = 200 * scale, .gaps = times({5, 5})}};
  profile.delays.from_start = profile.delays.from_end = profile.delays.queue = times({9 * scale});
  profile.delays.unmatched = 2;
  add_shares(profile);
  return profile;
}

std::map<std::string, Table> as_read(const std::map<std::string, RankTable>& tables, int rank) {
  std::map<std::string, Table> read;
  for (const auto& [path, table] : tables)
    read[path] = table_of_ranks({{rank, table}});
  return read;
}

TEST(ProfileTables, AreReadAsTheyWereWritten) {
  const Profile before = example(1);
  const std::vector<Profile> profiles = read_profiles(as_read(tables_of_profile(before), 4));
  ASSERT_EQ(profiles.size(), 1u);
  const Profile& after = profiles.front();
  EXPECT_EQ(after.rank, 4);
  EXPECT_EQ(after.num_steps, 3);
  EXPECT_EQ(after.window_ns, 1000);
  ASSERT_EQ(after.calls.size(), 2u);
  EXPECT_EQ(after.calls[0].name, "cudaLaunchKernel");
  EXPECT_EQ(after.calls[0].time.total, 30);
  EXPECT_EQ(after.calls[0].time.max, 20);
  EXPECT_DOUBLE_EQ(after.calls[0].time.mean, 15);
  EXPECT_DOUBLE_EQ(after.calls[0].time.p95, 19.5);
  EXPECT_FALSE(after.calls[0].time.median.has_value());
  EXPECT_EQ(after.copies[0].bytes, 4096);
  ASSERT_EQ(after.operators.size(), 2u);
  EXPECT_EQ(after.operators[0].phase, "backward");  // the longest self time first
  EXPECT_EQ(after.operators[1].cost.allocated_bytes, 512);
  EXPECT_EQ(after.blocks[0].pass, "backward");
  EXPECT_EQ(after.threads[0].idle_ns(), 1000);
  EXPECT_EQ(after.exchanges[0].totals.payload_bytes, 1024);
  ASSERT_EQ(after.mpi.size(), 2u);
  EXPECT_EQ(after.mpi[0].name, "MPI_Allreduce");  // the longest time first
  EXPECT_EQ(after.mpi[0].calls, 3);
  EXPECT_EQ(after.mpi[0].bytes, 24);
  EXPECT_EQ(after.mpi[0].ns, 700);
  EXPECT_EQ(after.files[0].name, "read_independent");
  EXPECT_EQ(after.files[0].totals.bytes, 4096);
  EXPECT_DOUBLE_EQ(after.files[0].totals.lock_seconds, 0.5);
  EXPECT_EQ(after.gpus[0].device, 1);
  EXPECT_EQ(after.gpus[0].idle(), 50);
  EXPECT_EQ(after.streams[0].stream, 7);
  EXPECT_EQ(after.streams[0].gaps.count, 2);
  EXPECT_EQ(after.delays.queue.total, 9);
  EXPECT_EQ(after.delays.unmatched, 2);
  EXPECT_DOUBLE_EQ(after.shares[0].share().value(), 1.0);
  EXPECT_DOUBLE_EQ(after.shares[1].share().value(), 0.25);
  EXPECT_FALSE(after.shares.back().is_recorded);
}

TEST(ProfileTables, WhatIsNotKnownHasNoColumnAndIsReadAsUnknown) {
  Profile before = example(1);
  for (OperatorRow& row : before.operators)
    row.cost.gpu_ns = row.cost.gpu_count = row.cost.allocated_bytes = std::nullopt;
  before.phases.front().cost.allocated_bytes = std::nullopt;
  before.blocks.front().cost.gpu_count = 0;
  const std::map<std::string, Table> tables = as_read(tables_of_profile(before), 0);
  for (const char* column : {"gpu_ns", "gpu_count", "allocated_bytes"})
    EXPECT_FALSE(tables.at("profile/operators").reals.contains(column)) << column;
  EXPECT_TRUE(tables.at("profile/operators").reals.contains("self_ns"));
  const Profile after = read_profiles(tables).front();
  for (const OperatorRow& row : after.operators)
    EXPECT_FALSE(row.cost.gpu_ns || row.cost.gpu_count || row.cost.allocated_bytes) << row.phase;
  EXPECT_EQ(after.phases[0].cost.gpu_ns, 60);
  EXPECT_EQ(after.phases[0].cost.gpu_count, 1);
  EXPECT_FALSE(after.phases[0].cost.allocated_bytes);
  EXPECT_EQ(after.blocks[0].cost.gpu_count, 0);
}

TEST(ProfileTables, OfSeveralWindowsAddUp) {
  std::map<std::string, RankTable> tables;
  for (const std::int64_t scale : {1, 3})
    for (const auto& [path, table] : tables_of_profile(example(scale)))
      add_part(tables[path], table);
  const Profile whole = read_profiles(as_read(tables, 0)).front();
  EXPECT_EQ(whole.num_steps, 6);
  EXPECT_EQ(whole.calls[0].time.count, 4);
  EXPECT_EQ(whole.calls[0].time.total, 120);
  EXPECT_EQ(whole.calls[0].time.max, 60);
  EXPECT_DOUBLE_EQ(whole.calls[0].time.p95, 3 * 19.5);
  EXPECT_EQ(whole.files[0].totals.calls, 6);
  EXPECT_EQ(whole.mpi[0].calls, 6);
  EXPECT_EQ(whole.mpi[0].ns, 2800);
  EXPECT_DOUBLE_EQ(whole.files[0].totals.seconds, 0.5);
  EXPECT_EQ(whole.threads[0].count, 2);
  EXPECT_EQ(whole.threads[0].window_ns, 8000);
  EXPECT_EQ(whole.delays.unmatched, 4);
}

TEST(ProfileTables, NameACallThatIsNotRecorded) {
  std::map<std::string, RankTable> tables;
  for (const auto& [path, table] : tables_of_profile(example(1)))
    add_part(tables[path], table);
  const auto& shares = tables.at("profile/shares").rows;
  EXPECT_EQ(shares.size(), 7u);
  EXPECT_TRUE(shares.at({"cudaEventDestroy", "api"}).empty());
}

TEST(ProfileTables, OfCpusHaveNoShares) {
  Profile profile = example(1);
  profile.gpus.clear();
  EXPECT_FALSE(tables_of_profile(profile).contains("profile/shares"));
}

TEST(ProfileTables, AKeyThatIsNoNumberIsRefused) {
  std::map<std::string, Table> tables = as_read(tables_of_profile(example(1)), 0);
  tables.at("profile/gpus").text.at("device").front() = "one";
  EXPECT_THROW(read_profiles(tables), DataError);
}

}  // namespace
}  // namespace multicard
