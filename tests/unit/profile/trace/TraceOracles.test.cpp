// Recorded on A100 and V100 GPUs; what Holistic Trace Analysis and plain sums over the events find in them
// (tests/data/traces/README.md).

#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "profile/trace/TraceProfile.hpp"
#include "profile/trace/TraceReader.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using nlohmann::json;

/// Whole nanoseconds of microseconds with three decimals.
std::int64_t ns(const json& microseconds) {
  return std::llround(microseconds.get<double>() * 1000);
}

class Recorded : public testing::TestWithParam<const char*> {
 protected:
  Recorded() {
    const std::filesystem::path folder = test::source_path("tests/data/traces") / GetParam();
    std::ifstream(folder / "oracle.json") >> oracle_;
    trace_ = read_trace((folder / "trace.json.gz").string());
    profile_ = profile_of(trace_, 0);
  }

  json oracle_;
  Trace trace_;
  Profile profile_;
};

TEST_P(Recorded, HasTheTotals) {
  const json& totals = oracle_["denominators"];
  EXPECT_EQ(trace_.num_events, oracle_["events"]);
  EXPECT_EQ(profile_.api_ns, ns(totals["api_total_us"]));
  EXPECT_EQ(profile_.kernel_ns, ns(totals["kernel_total_us"]));
  EXPECT_EQ(profile_.copy_ns, ns(totals["memops_total_us"]));
  EXPECT_TRUE(trace_.notices.empty()) << trace_.notices.front();
}

TEST_P(Recorded, HasTheGpuTimes) {
  const json& expected = oracle_["gpu_time"];
  ASSERT_EQ(profile_.gpus.size(), 1u);
  const GpuTime& gpu = profile_.gpus[0];
  EXPECT_EQ(gpu.span, ns(expected["span_us"]));
  EXPECT_EQ(gpu.busy, ns(expected["busy_us"]));
  EXPECT_EQ(gpu.idle(), ns(expected["idle_us"]));
  EXPECT_EQ(gpu.compute, ns(expected["compute_union_us"]));
  EXPECT_EQ(gpu.communication, ns(expected["comm_union_us"]));
  EXPECT_EQ(gpu.memory, ns(expected["memory_union_us"]));
  EXPECT_EQ(gpu.overlap, ns(expected["comm_compute_overlap_us"]));
  EXPECT_EQ(gpu.exposed(), ns(expected["exposed_comm_us"]));
  ASSERT_EQ(profile_.streams.size(), oracle_["gpu_streams"].size());
  for (const StreamRow& row : profile_.streams) {
    const json& stream = oracle_["gpu_streams"][std::to_string(row.stream)];
    EXPECT_EQ(row.count, stream["count"]);
    EXPECT_EQ(row.busy, ns(stream["busy_us"]));
    EXPECT_EQ(row.span, ns(stream["span_us"]));
  }
}

TEST_P(Recorded, HasTheCallsAndKernels) {
  ASSERT_EQ(profile_.calls.size(), oracle_["api"].size());
  for (const NamedTimes& row : profile_.calls) {
    const json& call = oracle_["api"][row.name];
    EXPECT_EQ(row.time.count, call["count"]) << row.name;
    EXPECT_EQ(row.time.total, ns(call["total_us"])) << row.name;
    EXPECT_EQ(row.time.min, ns(call["min_us"])) << row.name;
    EXPECT_EQ(row.time.max, ns(call["max_us"])) << row.name;
    EXPECT_NEAR(row.time.mean / 1000, call["mean_us"].get<double>(), 1e-6 * row.time.mean) << row.name;
  }
  ASSERT_EQ(profile_.kernels.size(), oracle_["kernels"].size());
  for (const NamedTimes& row : profile_.kernels) {
    EXPECT_EQ(row.time.count, oracle_["kernels"][row.name]["count"]) << row.name;
    EXPECT_EQ(row.time.total, ns(oracle_["kernels"][row.name]["total_us"])) << row.name;
  }
}

TEST_P(Recorded, HasTheCopiesAndCollectives) {
  std::size_t directions = 0;
  for (const CopyRow& row : profile_.copies) {
    const bool is_set = row.direction == "set";
    const json& expected = is_set ? oracle_["memset"] : oracle_["memcpy"][row.direction];
    directions += is_set ? 0 : 1;
    EXPECT_EQ(row.time.count, expected["count"]) << row.direction;
    EXPECT_EQ(row.time.total, ns(expected["total_us"])) << row.direction;
    EXPECT_EQ(row.bytes, expected["bytes"]) << row.direction;
  }
  EXPECT_EQ(directions, oracle_["memcpy"].size());
  ASSERT_EQ(profile_.collectives.size(), oracle_["nccl"].size());
  for (const NamedTimes& row : profile_.collectives) {
    EXPECT_EQ(row.time.count, oracle_["nccl"][row.name]["count"]) << row.name;
    EXPECT_EQ(row.time.total, ns(oracle_["nccl"][row.name]["total_us"])) << row.name;
  }
}

TEST_P(Recorded, HasTheLaunchDelays) {
  const json& expected = oracle_["launch_delay"];
  EXPECT_EQ(profile_.delays.from_start.count, expected["matched"]);
  EXPECT_EQ(profile_.delays.unmatched, oracle_["unmatched"]);
  for (const auto& [found, name] :
       {std::pair{profile_.delays.from_start, "from_api_start"}, std::pair{profile_.delays.from_end, "from_api_end"}}) {
    if (found.count == 0) continue;
    EXPECT_NEAR(found.median.value() / 1000, expected[name]["median_us"].get<double>(), 1e-6) << name;
    EXPECT_NEAR(found.p95 / 1000, expected[name]["p95_us"].get<double>(), 1e-6) << name;
    EXPECT_EQ(found.min, ns(expected[name]["min_us"])) << name;
    EXPECT_EQ(found.max, ns(expected[name]["max_us"])) << name;
  }
}

TEST_P(Recorded, HasTheSevenShares) {
  ASSERT_EQ(profile_.shares.size(), 7u);
  for (const ShareRow& row : profile_.shares) {
    const json& expected = oracle_["seven"][row.name];
    EXPECT_EQ(row.count, expected["count"]) << row.name;
    EXPECT_EQ(row.ns, ns(expected["us"])) << row.name;
    ASSERT_EQ(row.share().has_value(), !expected["share"].is_null()) << row.name;
    if (row.share()) {
      EXPECT_NEAR(*row.share(), expected["share"].get<double>(), 1e-6) << row.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Traces, Recorded,
                         testing::Values("alexnet_a100_sync", "event_sync_tiny", "reco_a100_world16_graph",
                                         "reco_v100_world2_graph", "resnet_ddp_a100_ns", "triton_driver_tiny"));

}  // namespace
}  // namespace multicard
